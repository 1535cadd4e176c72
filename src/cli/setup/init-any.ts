import { SquadError } from '../../schema/error.ts';
import type { CliContext } from '../context.ts';
import { initSubagent } from '../subagents/init-subagent.ts';
import { initCommand } from './init.ts';

export interface InitOptions {
  subagent?: string;
  schema?: boolean;
}

/** `squad init`: a project's files, or a subagent's. What belongs to the one is not taken for a wish for the other. */
export async function initAny({ subagent, schema }: InitOptions, context: CliContext): Promise<number> {
  if (subagent !== undefined) return initSubagent(subagent, { schema }, context);
  if (schema)
    throw new SquadError('INVALID_INPUT', '--schema is for a new subagent, and none is named', {
      suggestions: ['squad init --subagent NAME --schema', 'squad init   lays down the files of a project'],
    });
  return initCommand(context);
}
