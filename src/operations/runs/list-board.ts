import { z } from 'zod';
import { startOfDay } from '../../core/cost/budget.ts';
import type { BoardFilter } from '../../core/ports/board-store.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { Need, RunCard } from '../../schema/run-card.ts';
import { operation, type UserServices } from '../operation.ts';
import { asksUser } from './asks-user.ts';
import { type LiveNeed, pageOf } from './board-page.ts';
import { findSquad } from './find.ts';
import { cardsOf } from './run-card.ts';
import { undecidedRuns } from './undecided.ts';

/** Runs by how much they need somebody, newest first within: what the page begins with, and `squad ls --need`. */
export const listBoard = operation({
  name: 'list_board',
  route: 'GET /board',
  agents: null,
  tool: null,
  input: z.strictObject({
    workspace: z.string().optional(),
    /** `failed` alone means every run that ever failed, also one that nobody needs to look at any more. */
    status: z.array(Need).optional(),
    /** Words that are all in its task, title, role, engine, model or id. */
    q: z.string().max(400).optional(),
    squad: z.string().optional(),
    /** `next` of the page before. */
    cursor: z.string().max(200).optional(),
    limit: z.number().int().min(1).max(200).default(50),
  }),
  output: z.object({
    runs: z.array(RunCard),
    /** Of everything else that was asked for, whatever its status. */
    counts: z.record(Need, z.number()),
    /** Of those that need you, the ones with a question in the inbox. */
    asking: z.number(),
    /** Null: that was the last page. */
    next: z.string().nullable(),
    /** Of runs that were asked for today, here or anywhere; null: none has reported it. */
    spentTodayUsd: z.number().nullable(),
    /** Some of that was worked out from a price list. */
    isTodayEstimated: z.boolean(),
    /** Runs of today that ended and whose cost nobody knows: it is not in the sum. */
    unreportedToday: z.number(),
    budgetDayUsd: z.number().nullable(),
    /** The answer holds everything up to this event. */
    last: z.number(),
  }),
  async run({ services }, { workspace, squad, q, status, cursor, limit }) {
    const { store, clock, settings } = services;
    const last = await store.lastEvent();
    // What an event tells is on disk a moment before the runner has it.
    await new Promise(settle => setImmediate(settle));
    const squadId = squad === undefined ? undefined : (await findSquad(services, squad)).squad.id;
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

/** Those that have not ended, by need, newest first. */
async function liveRuns(services: UserServices, filter: BoardFilter): Promise<Record<LiveNeed, Run[]>> {
  const { runner, store } = services;
  const { workspace, squadId, q } = filter;
  const all = runner
    .liveRuns()
    .filter(run => !isEnd(run.status))
    .filter(run => workspace === undefined || run.workspace === workspace)
    .filter(run => squadId === undefined || run.squadId === squadId);
  const found = q?.trim() ? await store.liveIds(filter) : null;
  const live = (found ? all.filter(({ id }) => found.has(id)) : all).sort(newestFirst);
  const asking = new Set(live.filter(({ id }) => asksUser(services.inbox.openOf(id))));
  const rest = live.filter(run => !asking.has(run));
  return {
    needs_you: [...asking],
    running: rest.filter(({ status }) => status !== 'queued'),
    queued: rest.filter(({ status }) => status === 'queued'),
  };
}

/** The database knows what ended runs have cost; the runner, what those at work have by now. */
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
