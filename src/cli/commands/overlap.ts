import type { z } from 'zod';
import type { findOverlap } from '../../operations/find-overlap.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../output/json.ts';
import { oneLine } from '../output/sanitize.ts';
import { formatTable } from '../output/table.ts';

type Found = z.output<typeof findOverlap.output>;

/** `squad overlap`: which work trees have changed the same files. */
export async function overlapCommand(context: CliContext): Promise<number> {
  const client = await HubClient.start({ workspace: context.workspace });
  const found = await client.call<Found>('find_overlap').finally(() => client.close());
  if (context.json) printJson(context.out, found);
  else print(context, lines(found, context));
  return EXIT.done;
}

function lines({ runs, files, moreFiles }: Found, { out, style }: CliContext): string[] {
  const unknown = runs.filter(({ why }) => why !== null);
  const trees = runs.length === 1 ? '1 work tree has' : `${runs.length} work trees have`;
  const about = runs.length === 0 ? 'No work tree has changes.' : `${trees} changes that are not merged.`;
  const doubts = unknown.map(({ runId, why }) =>
    style.yellow(`${runId} could not be looked at: ${oneLine(why ?? '')}`),
  );
  if (files.length === 0) return [`No overlap. ${about}`, ...doubts];
  const nameOf = new Map(runs.map(({ runId, name }) => [runId, name]));
  const rows = files.map(({ path, runs: ids }) => [
    oneLine(path),
    ids.map(id => `${id} ${style.role(nameOf.get(id) ?? '', oneLine(nameOf.get(id) ?? ''))}`).join(', '),
  ]);
  return [
    ...formatTable(
      [
        { title: 'file', shrinkTo: 20 },
        { title: 'changed by', shrinkTo: 20 },
      ],
      rows,
      out.columns,
      style,
    ),
    ...(moreFiles > 0 ? [style.dim(`and ${moreFiles} more files`)] : []),
    ...doubts,
    style.dim('`squad integrate --dry-run` shows whether they conflict.'),
  ];
}
