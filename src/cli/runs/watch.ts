import type { ShownItem } from '../../operations/inbox/list-inbox.ts';
import type { Event } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import { isEnd } from '../../schema/run.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { workspaceRoot } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT, exitFor } from '../exit-codes.ts';
import { pageOrigin } from '../hub/web-address.ts';
import { HubClient } from '../hub-client.ts';
import { formatClock } from '../terminal/duration.ts';
import { plainLine } from '../terminal/json.ts';
import { countByStatus, paintStatus, statusText } from '../terminal/status-text.ts';
import type { Style } from '../terminal/style.ts';
import { padEnd, truncate } from '../terminal/width.ts';
import { follow, reconnectToHub, untilAnswered } from './follow.ts';
import { eventToLine, labelWidth } from './run-lines.ts';
import { RunReporter, type TellOptions } from './run-reporter.ts';
import { printSummary, summaryLines } from './run-summary.ts';
import { type RunView, RunViews, type SeenRun } from './run-view.ts';

const WORD_WIDTH = 9;

/** A run that was there before the watching began, in the columns of what happens after: since when, who, what. */
function nowLine(run: RunView, width: number, style: Style, columns: number): string {
  const since = run.startedAt === null ? ' '.repeat(8) : formatClock(run.startedAt);
  const origin = [run.engine, run.id].join(' · ');
  return truncate(
    [
      style.dim(since),
      style.role(run.roleId, padEnd(truncate(run.label, width), width)),
      paintStatus(run.status, padEnd(statusText(run.status), WORD_WIDTH), style),
      [style.dim(origin), run.activity].filter(part => part !== '').join(style.dim(' · ')),
    ].join('  '),
    columns,
  );
}

type BegunRun = SeenRun & { turn: number };

/** What there is when the watching begins. */
interface WatchBeginning {
  where: string;
  runs: readonly BegunRun[];
  asks: readonly ShownItem[];
  /** The last event that it surely holds; it may hold some after it. */
  last: number;
  knows(id: RunId): boolean;
  hadEnded(id: RunId): boolean;
  /** What this event tells is in it already. */
  holds(event: Event): boolean;
}

/** As many as a list gives; whoever has more at work sees the others when something happens to them. */
const MAX_LIVE = 200;

export async function readBeginning(
  client: Pick<HubClient, 'call'>,
  ids: string[],
  workspace: string | undefined,
): Promise<WatchBeginning> {
  const { runs: live, last } = await client.call('list_board', {
    workspace,
    status: ['needs_you', 'running', 'queued'],
    limit: MAX_LIVE,
  });
  const runs: BegunRun[] =
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
    holds({ runId, body }) {
      const run = runId === null ? undefined : known.get(runId);
      if (!run) return false;
      if (body.type === 'inbox.asked') return asks.some(({ id }) => id === body.item.id);
      if (body.type === 'run.started') return run.status !== 'queued' && body.turn <= run.turn;
      return body.type === 'run.ended' && isEnd(run.status);
    },
  };
}

interface PrintOptions {
  teller: RunReporter;
  views: RunViews;
  context: CliContext;
  isQuiet: boolean;
}

/** A short block of what is there, before what happens. */
function printStart(
  { where, asks, last }: WatchBeginning,
  { teller, views, context, isQuiet }: PrintOptions,
): void {
  const { out, json, style } = context;
  for (const item of asks) views.ask(item);
  const shown = teller.shown();
  if (json) {
    const runs = shown.map(({ id: runId, roleId, engine, status }) => ({ runId, roleId, engine, status }));
    out.write(plainLine({ type: 'watch.started', after: last, runs }));
    return;
  }
  const width = labelWidth(shown);
  if (!isQuiet) {
    teller.say(headLine(where, shown, context));
    for (const run of shown) teller.say(nowLine(run, width, style, out.columns));
  }
  for (const item of asks) {
    const run = shown.find(({ id }) => id === item.runId) ?? null;
    const { createdAt: at, runId, squadId } = item;
    const asked: Event = { seq: 0, at, runId, squadId, body: { type: 'inbox.asked', item } };
    const line = eventToLine(asked, run, width, style, out.columns);
    if (line !== null) teller.say(line);
  }
  teller.changed();
}

function headLine(where: string, shown: RunView[], { style }: CliContext): string {
  const counts = countByStatus(
    shown.map(run => run.status),
    style,
  );
  const parts = [style.bold(where), counts || 'nothing at work', style.dim('Ctrl-C leaves, runs go on')];
  return parts.join(' · ');
}

interface WatchOptions extends TellOptions {
  all?: boolean;
}

const MAX_IN_SUMMARY = 20;

/** `squad watch [ID…]`: what happens to runs from now on; to named ones until they have ended. */
export async function watchCommand(
  ids: string[],
  { all, ...tell }: WatchOptions,
  context: CliContext,
): Promise<number> {
  const workspace = all || ids.length > 0 ? undefined : workspaceRoot(context.workspace);
  const client = await HubClient.start({ workspace: context.workspace });
  const leaving = new AbortController();
  const leave = () => leaving.abort();
  process.once('SIGINT', leave).once('SIGTERM', leave);
  try {
    const beginning = await readBeginning(client, ids, workspace);
    const views = new RunViews(beginning.runs);
    const teller = new RunReporter(views, context, tell);
    const isOver = () => ids.length > 0 && views.list().every(run => isEnd(run.status));
    try {
      teller.origin = await pageOrigin(client, context);
      printStart(beginning, { teller, views, context, isQuiet: tell.quiet === true });
      if (!isOver()) await watch();
    } finally {
      teller.close();
    }
    if (!isOver()) {
      if (!context.json) print(context, partingLines(teller, beginning, context));
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
        after: beginning.last,
        signal: leaving.signal,
        onEvent(event) {
          const isNamed = event.runId !== null && beginning.knows(event.runId);
          if ((ids.length === 0 || isNamed) && !beginning.holds(event)) teller.tell(event);
          return isOver();
        },
        async reconnect(gone) {
          // Somebody who stopped it does not want it back; an exit code that is waited for does.
          const isStopped = ids.length === 0 && (await gone.untilGone()) === 'stop';
          const tellWait = () => teller.say(context.style.dim('The hub was stopped; waits for the next.'));
          const next = isStopped ? await reconnectToHub(tellWait, leaving.signal) : await HubClient.start();
          teller.origin = await pageOrigin(next, context);
          return next;
        },
      });
    }
  } finally {
    process.off('SIGINT', leave).off('SIGTERM', leave);
    client.close();
  }
}

/** What ended while it was watched, and that the rest goes on. */
function partingLines(teller: RunReporter, beginning: WatchBeginning, { out, style }: CliContext): string[] {
  const shown = teller.shown();
  const ended = shown.filter(run => isEnd(run.status) && !beginning.hadEnded(run.id));
  const kept = ended.slice(-MAX_IN_SUMMARY);
  const live = shown.filter(run => !isEnd(run.status)).length;
  const lines = summaryLines(kept, out.columns, style);
  if (ended.length > kept.length)
    lines.push(`  The last ${kept.length} of ${ended.length} that ended; squad ls shows all.`);
  if (live > 0) lines.push(style.dim(`${live} ${live === 1 ? 'run goes' : 'runs go'} on.`));
  return lines;
}
