import { SquadError } from '../../schema/error.ts';

/** `file` names the engine or its command. */
export const engineNotTrusted = (file: string): SquadError =>
  new SquadError(
    'ENGINE_NOT_TRUSTED',
    `The engine is set in ${file}, which came with the workspace and is not trusted yet`,
    {
      suggestions: [
        'Read the file, then run `squad trust`.',
        'Or name the engine of this run: `engine` in the call, or `--engine claude` in a terminal.',
      ],
    },
  );
