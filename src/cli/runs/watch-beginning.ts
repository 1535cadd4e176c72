import type { ShownItem } from '../../operations/inbox/list-inbox.ts';
import type { Event } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import { isEnd } from '../../schema/run.ts';
import type { CliContext } from '../context.ts';
import type { HubClient } from '../hub-client.ts';
import { plainLine } from '../terminal/json.ts';
import { countByStatus } from '../terminal/status-word.ts';
import { nowLine } from './now-line.ts';
import { eventToLine, labelWidth } from './run-lines.ts';
import type { RunTeller } from './run-teller.ts';
import type { RunView, RunViews, SeenRun } from './run-view.ts';

type BegunRun = SeenRun & { turn: number };

/** What there is when the watching begins. */
export interface WatchBeginning {
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
const MOST_LIVE = 200;

export async function readBeginning(
  client: Pick<HubClient, 'call'>,
  ids: string[],
  workspace: string | undefined,
): Promise<WatchBeginning> {
  const { runs: live, last } = await client.call('list_board', {
    workspace,
    status: ['needs_you', 'running', 'queued'],
    limit: MOST_LIVE,
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

export interface Manner {
  teller: RunTeller;
  views: RunViews;
  context: CliContext;
  isQuiet: boolean;
}

/** A short block of what is there, before what happens. */
export function tellBeginning(
  { where, asks, last }: WatchBeginning,
  { teller, views, context, isQuiet }: Manner,
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
