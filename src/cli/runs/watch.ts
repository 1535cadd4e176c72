import type { ShownItem } from '../../operations/inbox/inbox.ts';
import type { Event } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import { isEnd } from '../../schema/run.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { workspaceRoot } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT, exitFor } from '../exit-codes.ts';
import { webOrigin } from '../hub/open.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { formatClock } from '../terminal/duration.ts';
import { plainLine } from '../terminal/json.ts';
import { countByStatus, paintStatus, statusText } from '../terminal/status-text.ts';
import type { Style } from '../terminal/style.ts';
import { padEnd, truncate } from '../terminal/width.ts';
import { follow, reconnectToHub, untilAnswered } from './follow.ts';
import { eventToLine, labelWidth } from './run-lines.ts';
import { type ReportOptions, RunReporter } from './run-reporter.ts';
import { printSummary, summaryLines } from './run-summary.ts';
import { type ListedRun, type RunView, RunViews } from './run-view.ts';

const STATE_WIDTH = 9;

/** Line of a run that existed before, in the same columns as the events that follow. */
function existingRunLine(run: RunView, width: number, style: Style, columns: number): string {
  const since = run.startedAt === null ? ' '.repeat(8) : formatClock(run.startedAt);
  const origin = [run.engine, run.id].join(' · ');
  return truncate(
    [
      style.dim(since),
      style.role(run.roleId, padEnd(truncate(run.label, width), width)),
      paintStatus(run.status, style, padEnd(statusText(run.status), STATE_WIDTH)),
      [style.dim(origin), run.activity].filter(part => part !== '').join(style.dim(' · ')),
    ].join('  '),
    columns,
  );
}

type ExistingRun = ListedRun & { turn: number };

/** State at the start of `squad watch`. */
interface WatchStart {
  where: string;
  runs: readonly ExistingRun[];
  asks: readonly ShownItem[];
  /** Number of the last event that this state certainly includes; it may include later ones. */
  last: number;
  knows(id: RunId): boolean;
  hadEnded(id: RunId): boolean;
  /** True if the state already includes this event. */
  includes(event: Event): boolean;
}

/** Maximum number of runs in the first list. Further runs appear with their next event. */
const MAX_LIVE = 200;

export async function readWatchStart(
  client: Pick<HubClient, 'call'>,
  ids: string[],
  workspace: string | undefined,
): Promise<WatchStart> {
  const { runs: live, last } = await client.call('list_board', {
    workspace,
    status: ['needs_you', 'running', 'queued'],
    limit: MAX_LIVE,
  });
  const runs: ExistingRun[] =
    ids.length > 0
      ? (await client.call('find_runs', { ids })).runs
      : live.toSorted((a, b) => a.createdAt - b.createdAt);
  const { items } = await client.call('list_inbox', { state: 'open' });
  const known = new Map(runs.map(run => [run.id, run]));
  const asks = items.filter(item => item.owner === 'user' && known.has(item.runId));
  return {
    where: ids.length > 0 ? ids.join(' ') : (workspace ?? 'every workspace'),
    ...{ runs, asks, last },
    knows: id => known.has(id),
    hadEnded: id => isEnd(known.get(id)?.status ?? 'queued'),
    includes({ runId, body }) {
      const run = runId === null ? undefined : known.get(runId);
      if (!run) return false;
      if (body.type === 'inbox.asked') return asks.some(({ id }) => id === body.item.id);
      if (body.type === 'run.started') return run.status !== 'queued' && body.turn <= run.turn;
      return body.type === 'run.ended' && isEnd(run.status);
    },
  };
}

/** Prints the runs that exist and their open questions. */
function printStart(
  { where, asks, last }: WatchStart,
  reporter: RunReporter,
  { context, isQuiet }: { context: CliContext; isQuiet: boolean },
): void {
  const { out, json, style } = context;
  const shown = reporter.shown();
  if (json) {
    const runs = shown.map(({ id: runId, roleId, engine, status }) => ({ runId, roleId, engine, status }));
    out.write(plainLine({ type: 'watch.started', after: last, runs }));
    return;
  }
  const width = labelWidth(shown);
  if (!isQuiet) {
    reporter.print(headLine(where, shown, context));
    for (const run of shown) reporter.print(existingRunLine(run, width, style, out.columns));
  }
  for (const item of asks) {
    const run = shown.find(({ id }) => id === item.runId) ?? null;
    const { createdAt: at, runId, squadId } = item;
    const asked: Event = { seq: 0, at, runId, squadId, body: { type: 'inbox.asked', item } };
    const line = eventToLine(asked, run, width, style, out.columns);
    if (line !== null) reporter.print(line);
  }
  reporter.changed();
}

function headLine(where: string, shown: RunView[], { style }: CliContext): string {
  const counts = countByStatus(
    shown.map(run => run.status),
    style,
  );
  const parts = [style.bold(where), counts || 'nothing running', style.dim('Ctrl-C leaves, runs continue')];
  return parts.join(' · ');
}

interface WatchOptions extends ReportOptions {
  all?: boolean;
}

const MAX_IN_SUMMARY = 20;

/** `squad watch [ID…]`: prints events of runs; with ids, until these runs have ended. */
export async function watchCommand(
  ids: string[],
  { all, ...options }: WatchOptions,
  context: CliContext,
): Promise<number> {
  const workspace = all || ids.length > 0 ? undefined : workspaceRoot(context.workspace);
  const client = await HubClient.start({ workspace: context.workspace });
  const leaving = new AbortController();
  const leave = () => leaving.abort();
  process.once('SIGINT', leave).once('SIGTERM', leave);
  try {
    const start = await readWatchStart(client, ids, workspace);
    const views = new RunViews(start.runs);
    for (const item of start.asks) views.ask(item);
    const reporter = new RunReporter(views, context, options);
    const isOver = () => ids.length > 0 && views.list().every(run => isEnd(run.status));
    try {
      reporter.origin = await webOrigin(client, context);
      printStart(start, reporter, { context, isQuiet: options.quiet === true });
      if (!isOver()) await watch();
    } finally {
      reporter.close();
    }
    if (!isOver()) {
      if (!context.json) print(context, partingLines(reporter, start, context));
      return EXIT.interrupted;
    }
    const named = views.list();
    if (!context.json)
      await untilAnswered(hub =>
        printSummary(
          hub,
          named.map(run => run.id),
          views,
          context,
        ),
      );
    return exitFor(named.map(shownStatus));

    function watch(): Promise<void> {
      return follow(client, {
        workspace,
        after: start.last,
        signal: leaving.signal,
        onEvent(event) {
          const isNamed = event.runId !== null && start.knows(event.runId);
          if ((ids.length === 0 || isNamed) && !start.includes(event)) reporter.report(event);
          return isOver();
        },
        async reconnect(gone) {
          // A hub that the user stopped is not started again, except by a command that waits for the end of named runs.
          const isStopped = ids.length === 0 && (await gone.untilGone()) === 'stop';
          const onWait = () =>
            reporter.print(context.style.dim('The hub was stopped. Waiting for the next one.'));
          const next = isStopped ? await reconnectToHub(onWait, leaving.signal) : await HubClient.start();
          reporter.origin = await webOrigin(next, context);
          return next;
        },
      });
    }
  } finally {
    process.off('SIGINT', leave).off('SIGTERM', leave);
    client.close();
  }
}

/** Summary of the runs that ended during `squad watch`, and the number of those that continue. */
function partingLines(reporter: RunReporter, start: WatchStart, { out, style }: CliContext): string[] {
  const shown = reporter.shown();
  const ended = shown.filter(run => isEnd(run.status) && !start.hadEnded(run.id));
  const kept = ended.slice(-MAX_IN_SUMMARY);
  const live = shown.filter(run => !isEnd(run.status)).length;
  const lines = summaryLines(kept, out.columns, style);
  if (ended.length > kept.length)
    lines.push(
      withOwnCommand(`  The last ${kept.length} of ${ended.length} runs that ended; squad ls lists all.`),
    );
  if (live > 0) lines.push(style.dim(`${live} ${live === 1 ? 'run continues' : 'runs continue'}.`));
  return lines;
}
