import { SquadError } from '../../schema/error.ts';

const LEVELS = ['low', 'medium', 'high', 'xhigh', 'max'];

/** Claude Code would warn on stderr and go on with its usual effort. */
export function claudeEffort(effort: string): string {
  if (LEVELS.includes(effort)) return effort;
  throw new SquadError(
    'INVALID_INPUT',
    `Claude Code has no effort ${JSON.stringify(effort.slice(0, 60).toWellFormed())}`,
    {
      suggestions: [`Efforts: ${LEVELS.join(', ')}.`],
    },
  );
}
