import { formatBytes, visibleLine } from '../../base/text.ts';
import { SquadError } from '../../schema/error.ts';
import { type CliContext, printResult } from '../context.ts';
import { HubClient } from '../hub-client.ts';

export interface PruneOptions {
  days?: string;
  dryRun?: boolean;
}

/** `squad prune`: deletes old runs and their output. */
export async function pruneCommand({ days, dryRun }: PruneOptions, context: CliContext): Promise<number> {
  if (days !== undefined && !(Number(days) >= 0))
    throw new SquadError('INVALID_INPUT', `--days cannot be ${JSON.stringify(days)}`, {
      suggestions: ['Use a number: squad prune --days 7'],
    });
  const pruned = await HubClient.ask({}, 'prune', {
    ...(days !== undefined && { days: Number(days) }),
    dryRun: dryRun === true,
  });
  const { runs, days: age, bytes, kept, saved } = pruned;
  return printResult(context, pruned, () =>
    dryRun
      ? [`${runs} runs ended more than ${age} days ago and would be deleted.`]
      : [
          `Deleted ${runs} runs that ended more than ${age} days ago, ${formatBytes(bytes ?? 0)}.`,
          ...(kept > 0 ? [`Kept ${kept} runs because of their work trees: squad worktrees --all`] : []),
          ...(saved.length > 0 ? ['Uncommitted changes of their work trees are saved as:'] : []),
          ...saved.map(({ repository, ref }) => `  ${visibleLine(ref)} in ${visibleLine(repository)}`),
        ],
  );
}
