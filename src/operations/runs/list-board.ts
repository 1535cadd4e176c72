import { z } from 'zod';
import { startOfDay } from '../../core/cost/budget.ts';
import type { BoardFilter, EndedFilter } from '../../core/ports/store.ts';
import type { BoardPage } from '../../core/runs/board.ts';
import { SquadError } from '../../schema/error.ts';
import { RunId } from '../../schema/ids.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { Need, RunCard } from '../../schema/run-card.ts';
import { operation, type UserServices } from '../operation.ts';
import { findSquad } from './find-runs.ts';
import { asksUser, cardsOf, openAsks } from './run-card.ts';
import { undecidedRuns } from './run-notes.ts';

type LiveNeed = keyof BoardPage['live'];

interface Asked {
  filter: BoardFilter;
  status: Need[] | undefined;
  cursor: string | undefined;
  limit: number;
  live: Record<LiveNeed, Run[]>;
}

/**
 * A position in the list: the number of live runs of a section that were shown, or the last ended run that was shown.
 */
interface Place {
  need: Need;
  shown?: number;
  after?: Pick<Run, 'createdAt' | 'id'>;
}

/**
 * One page of the list as it was at the first page. Live runs are remembered, because they move between pages: none
 * is skipped or shown twice.
 */
async function pageOf(services: UserServices, asked: Asked): Promise<{ runs: Run[]; next: string | null }> {
  const { boards } = services;
  const { cursor, limit } = asked;
  const resumed = cursor === undefined ? null : resume(services, asked, cursor);
  const page = resumed?.page ?? newPage(services, asked);
  const taken: { run: Run; place: Place }[] = [];
  for await (const each of walk(services, asked, page, resumed?.place ?? { need: 'needs_you' })) {
    taken.push(each);
    if (taken.length > limit) break;
  }
  const shown = taken.slice(0, limit);
  const isLast = taken.length <= limit;
  return {
    runs: shown.map(({ run }) => run),
    next: isLast ? null : cursorOf(resumed?.name ?? boards.keep(page), shown.at(-1)!.place),
  };
}

function newPage({ clock }: UserServices, asked: Asked): BoardPage {
  const idsOf = (runs: Run[]) => runs.map(({ id }) => id);
  const { needs_you, running, queued } = asked.live;
  return {
    asked: filterKey(asked),
    at: clock.now(),
    live: { needs_you: idsOf(needs_you), running: idsOf(running), queued: idsOf(queued) },
  };
}

async function* walk(
  services: UserServices,
  { filter, status, limit }: Asked,
  page: BoardPage,
  from: Place,
): AsyncGenerator<{ run: Run; place: Place }> {
  const { store, runner } = services;
  const live = new Set(Object.values(page.live).flat());
  for (const need of Need.options.slice(Need.options.indexOf(from.need))) {
    if (status && !status.includes(need)) continue;
    const place: Place = need === from.need ? from : { need };
    if (need === 'failed' || need === 'done') {
      const part = partOf(need, status);
      let { after } = place;
      for (;;) {
        const some = await store.endedRuns({ ...filter, part, at: page.at, after, limit: limit + 1 });
        for (const run of some) if (!live.has(run.id)) yield { run, place: { need, after: run } };
        if (some.length <= limit) break;
        after = some.at(-1)!;
      }
    } else {
      for (const [i, id] of page.live[need].entries()) {
        if (i < (place.shown ?? 0)) continue;
        const run = runner.current(id) ?? (await store.run(id));
        if (run) yield { run, place: { need, shown: i + 1 } };
      }
    }
  }
}

function partOf(need: 'failed' | 'done', status: Need[] | undefined): EndedFilter['part'] {
  const isEver = status?.includes('failed') === true;
  if (need === 'failed') return isEver ? 'failed_ever' : 'failed';
  return isEver ? 'never_failed' : 'done';
}

function resume(
  { boards }: UserServices,
  asked: Asked,
  cursor: string,
): { name: string; page: BoardPage; place: Place } {
  const [name = '', given, position = ''] = cursor.split('.');
  const page = boards.find(name);
  const need = Need.safeParse(given).data;
  if (!page || !need)
    throw refusal(
      'This cursor has expired: the hub was restarted, or too many other lists were requested since',
    );
  if (page.asked !== filterKey(asked)) throw refusal('This cursor belongs to a list with other filters');
  if (need !== 'failed' && need !== 'done')
    return { name, page, place: { need, shown: Number(position) || 0 } };
  const [createdAt, id] = position.split('-');
  const after = { createdAt: Number(createdAt), id: RunId.safeParse(id).data };
  if (!Number.isFinite(after.createdAt) || after.id === undefined) throw refusal('This cursor is invalid');
  return { name, page, place: { need, after: { ...after, id: after.id } } };
}

const cursorOf = (name: string, { need, shown, after }: Place): string =>
  `${name}.${need}.${after ? `${after.createdAt}-${after.id}` : shown}`;

const filterKey = ({ filter: { workspace, squadId, q }, status }: Asked): string =>
  JSON.stringify([workspace, squadId, q, status]);

const refusal = (message: string): SquadError =>
  new SquadError('INVALID_INPUT', message, {
    suggestions: ['Request the first page again: leave cursor out.'],
  });

/** Runs by attention level, newest first within each: the start page of the web UI, and `squad ls --need`. */
export const listBoard = operation({
  name: 'list_board',
  route: 'GET /board',
  input: z.strictObject({
    workspace: z.string().optional(),
    /** `failed` alone means every run that ever failed, including those that no longer need attention. */
    status: z.array(Need).optional(),
    /** Words that must all occur in the task, title, role, engine, model or id. */
    q: z.string().max(400).optional(),
    squad: z.string().optional(),
    /** Cursor from `next` of the previous page. */
    cursor: z.string().max(200).optional(),
    limit: z.number().int().min(1).max(200).default(50),
  }),
  output: z.object({
    runs: z.array(RunCard),
    /** Number of runs per status, with all other filters applied. */
    counts: z.record(Need, z.number()),
    /** Number of runs with a question in the inbox, among those that need the user. */
    asking: z.number(),
    /** Cursor for the next page. Null on the last page. */
    next: z.string().nullable(),
    /** Cost of the runs created today in all workspaces. Null if no cost was reported. */
    spentTodayUsd: z.number().nullable(),
    /** True if at least a part of today's cost was estimated from a price list. */
    isTodayEstimated: z.boolean(),
    /** Number of today's ended runs with unknown cost, which is not included in the sum. */
    unreportedToday: z.number(),
    budgetDayUsd: z.number().nullable(),
    /** Number of the last event that the reply includes. */
    last: z.number(),
  }),
  async run({ services }, { workspace, squad, q, status, cursor, limit }) {
    const { store, clock, settings } = services;
    const last = await store.lastEvent();
    // Waits a moment, because an event is on disk shortly before the runner's state changes.
    await new Promise(settle => setImmediate(settle));
    const squadId = squad === undefined ? undefined : (await findSquad(services, squad, 'any')).squad.id;
    const filter = { workspace, squadId, q };
    const undecided = await undecidedRuns(services, filter);
    const found = await liveRuns(services, filter);
    const live = { ...found, needs_you: [...found.needs_you, ...undecided].sort(newestFirst) };
    const { runs, next } = await pageOf(services, { filter, status, cursor, limit, live });
    const ended = await store.countEnded(filter, clock.now());
    return {
      runs: await cardsOf(services, runs),
      counts: {
        needs_you: live.needs_you.length,
        failed: ended.failed,
        running: live.running.length,
        queued: live.queued.length,
        done: ended.done - undecided.length,
      },
      asking: found.needs_you.length,
      next,
      ...(await spentToday(services)),
      budgetDayUsd: settings.all()['budget.day_usd'] ?? null,
      last,
    };
  },
});

/** Runs that have not ended, by attention level, newest first. */
export async function liveRuns(
  services: UserServices,
  filter: BoardFilter,
): Promise<Record<LiveNeed, Run[]>> {
  const { runner, store } = services;
  const { workspace, squadId, q } = filter;
  const all = [...runner.liveRuns(), ...(await store.liveElsewhere())]
    .filter(run => !isEnd(run.status))
    .filter(run => workspace === undefined || run.workspace === workspace)
    .filter(run => squadId === undefined || run.squadId === squadId);
  const found = q?.trim() ? await store.liveIds(filter) : null;
  const live = (found ? all.filter(({ id }) => found.has(id)) : all).sort(newestFirst);
  const asksOf = await openAsks(services, live);
  const asking = new Set(live.filter(({ id }) => asksUser(asksOf(id))));
  const rest = live.filter(run => !asking.has(run));
  return {
    needs_you: [...asking],
    running: rest.filter(({ status }) => status !== 'queued'),
    queued: rest.filter(({ status }) => status === 'queued'),
  };
}

/** Adds the cost of running runs from the runner; the database has only that of ended ones. */
async function spentToday({ store, runner, clock }: UserServices) {
  const since = startOfDay(clock.now());
  const { costUsd, isEstimated, unreported } = await store.spending(since);
  const atWork = runner
    .liveRuns()
    .filter(({ status, createdAt }) => !isEnd(status) && createdAt >= since)
    .flatMap(({ id }) => runner.usageOf(id) ?? [])
    .filter(usage => usage.costUsd !== null);
  const known = [costUsd, ...atWork.map(usage => usage.costUsd)].filter(usd => usd !== null);
  return {
    spentTodayUsd: known.length === 0 ? null : known.reduce((sum, usd) => sum + usd, 0),
    isTodayEstimated: isEstimated || atWork.some(({ costIsEstimated }) => costIsEstimated),
    unreportedToday: unreported,
  };
}

const newestFirst = (a: Run, b: Run): number =>
  b.createdAt - a.createdAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
