import { visibleLine } from '../../base/visible-text.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { type NamedRun, runName } from '../../schema/run-name.ts';
import type { CliContext } from '../context.ts';
import { formatDuration } from '../terminal/duration.ts';
import { formatTable } from '../terminal/table.ts';

/** What a list of runs has of each, whichever list it is. */
type Listed = NamedRun & Pick<Run, 'id' | 'status' | 'createdAt' | 'startedAt' | 'endedAt'>;

/** The last two are the list's own: how it stands, painted, and what to say of it. */
export function runTable<R extends Listed>(
  runs: readonly R[],
  { out, style }: CliContext,
  { state, words }: { state(run: R): string; words(run: R): string },
): string[] {
  const now = Date.now();
  const rows = runs.map(run => [
    run.id,
    state(run),
    style.role(runName(run), visibleLine(runName(run))),
    run.engine,
    `${formatDuration(now - run.createdAt)} ago`,
    run.startedAt === null
      ? '–'
      : formatDuration((run.endedAt ?? now) - run.startedAt) + (isEnd(run.status) ? '' : '…'),
    words(run),
  ]);
  return formatTable(
    [
      { title: 'run' },
      { title: 'state' },
      { title: 'role', shrinkTo: 8 },
      { title: 'engine' },
      { title: 'asked', align: 'right' },
      { title: 'took', align: 'right' },
      { title: 'task', shrinkTo: 0 },
    ],
    rows,
    out.columns,
    style,
  );
}
