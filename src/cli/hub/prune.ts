import { formatBytes, visibleLine } from '../../base/text.ts';
import { SquadError } from '../../schema/error.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';

export interface PruneOptions {
  days?: string;
  dryRun?: boolean;
}

/** `squad prune`: removes runs that ended long ago, with their output. */
export async function pruneCommand({ days, dryRun }: PruneOptions, context: CliContext): Promise<number> {
  if (days !== undefined && !(Number(days) >= 0))
    throw new SquadError('INVALID_INPUT', `--days cannot be ${JSON.stringify(days)}`, {
      suggestions: ['Give a number: squad prune --days 7'],
    });
  const pruned = await HubClient.ask({}, 'prune', {
    ...(days !== undefined && { days: Number(days) }),
    dryRun: dryRun === true,
  });
  if (context.json) printJson(context.out, pruned);
  else if (dryRun)
    print(context, [`${pruned.runs} runs ended more than ${pruned.days} days ago and would be removed.`]);
  else
    print(context, [
      `Removed ${pruned.runs} runs that ended more than ${pruned.days} days ago, ${formatBytes(pruned.bytes ?? 0)}.`,
      ...(pruned.kept > 0
        ? [`${pruned.kept} stay because of their work tree, which had to stay: squad worktrees --all`]
        : []),
      ...(pruned.saved.length > 0 ? ['What was not committed in their work trees is kept:'] : []),
      ...pruned.saved.map(({ repository, ref }) => `  ${visibleLine(ref)} in ${visibleLine(repository)}`),
    ]);
  return EXIT.done;
}
