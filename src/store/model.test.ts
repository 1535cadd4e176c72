import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Change, Store } from '../core/ports/store.ts';
import type { Event } from '../schema/event.ts';
import type { ReviewId, RunId, SquadId } from '../schema/ids.ts';
import type { Intent, Review } from '../schema/review.ts';
import type { Run, Squad, Turn } from '../schema/run.ts';
import {
  activity,
  anIntent,
  aReview,
  aRun,
  aSquad,
  aTurn,
  aWorktree,
  started,
} from './fixtures/sample-rows.ts';
import { onPostgres, tempDatabase } from './fixtures/temp-database.ts';
import { openStore } from './open.ts';

/** Model of the store: plain maps that change as soon as a change is submitted. */
class Model {
  readonly squads = new Map<string, Squad>();
  readonly runs = new Map<string, Run>();
  readonly turns = new Map<string, Turn>();
  readonly reviews = new Map<string, Review>();
  readonly intents = new Map<string, Intent>();
  readonly limits = new Map<string, number>();
  readonly settings = new Map<string, string>();
  events: Event[] = [];
  seq = 0;

  /** False when a run has no squad, or a turn no run: then nothing of the change counts. */
  commit(change: Change): boolean {
    const { squads = [], runs = [], turns = [], reviews = [], events } = change;
    const known = (id: string) => this.squads.has(id) || squads.some(squad => squad.id === id);
    const has = (id: string) => this.runs.has(id) || runs.some(run => run.id === id);
    if (!runs.every(run => known(run.squadId)) || !turns.every(turn => has(turn.runId))) return false;
    for (const squad of squads) this.squads.set(squad.id, squad);
    for (const run of runs) this.runs.set(run.id, run);
    for (const turn of turns) this.turns.set(`${turn.runId} ${turn.number}`, turn);
    for (const review of reviews) this.reviews.set(review.id, review);
    for (const intent of change.intents ?? []) this.intents.set(intent.id, intent);
    for (const id of change.intentsDone ?? []) this.intents.delete(id);
    for (const { lineageId, limit } of change.reviewLimits ?? [])
      if (limit === null) this.limits.delete(lineageId);
      else this.limits.set(lineageId, limit);
    for (const event of events) this.events.push({ ...event, seq: ++this.seq });
    return true;
  }

  forget(ids: RunId[]): void {
    const squads = ids.map(id => this.runs.get(id)?.squadId);
    const lineages = ids.map(id => this.runs.get(id)?.lineageId);
    for (const id of ids) this.runs.delete(id);
    const isGone = (id: string | undefined) =>
      id !== undefined && lineages.includes(id as RunId) && !this.hasLineage(id);
    for (const [key, { coderId, outcome, lineageId }] of this.reviews)
      if ((ids.includes(coderId) && outcome === null) || isGone(lineageId)) this.reviews.delete(key);
    for (const id of lineages) if (id && isGone(id)) this.limits.delete(id);
    for (const [key, turn] of this.turns) if (ids.includes(turn.runId)) this.turns.delete(key);
    this.events = this.events.filter(event => !event.runId || !ids.includes(event.runId));
    for (const id of squads) {
      if (!id || [...this.runs.values()].some(run => run.squadId === id)) continue;
      this.squads.delete(id);
      this.events = this.events.filter(event => event.squadId !== id);
    }
  }

  private hasLineage(id: string): boolean {
    return [...this.runs.values()].some(run => run.lineageId === id);
  }
}

const SQUADS = ['squad_aaaaaaaaaa', 'squad_bbbbbbbbbb'] as SquadId[];
const RUNS = ['run_aaaaaaaaaa', 'run_bbbbbbbbbb', 'run_cccccccccc'] as RunId[];
const REVIEWS = ['review_aaaaaaaaaa', 'review_bbbbbbbbbb'] as ReviewId[];
const INTENTS = ['one', 'two'];

const squads = fc
  .record({ id: fc.constantFrom(...SQUADS), client: fc.option(fc.string({ unit: 'grapheme' })) })
  .map(aSquad);
const runs = fc
  .record({
    id: fc.constantFrom(...RUNS),
    squadId: fc.constantFrom(...SQUADS),
    lineageId: fc.constantFrom(...RUNS),
    worktree: fc.constantFrom(null, aWorktree(), aWorktree({ baseBranch: null })),
    turn: fc.integer({ min: 1, max: 9 }),
    task: fc.string({ unit: 'grapheme' }),
    createdAt: fc.integer({ min: 0, max: 5 }),
    status: fc.constantFrom('queued' as const, 'running' as const, 'completed' as const),
  })
  .map(some => aRun(aSquad(), some));
const turns = fc.tuple(runs, fc.integer({ min: 1, max: 2 })).map(([run, number]) => aTurn(run, { number }));
const events = fc
  .tuple(runs, fc.boolean())
  .map(([run, news]) => (news ? activity(run, run.task) : started(run)));
const reviews = fc
  .record({
    id: fc.constantFrom(...REVIEWS),
    requestedAt: fc.integer({ min: 0, max: 2 }),
    outcome: fc.constantFrom(null, 'needs_work' as const),
    actionableItems: fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 2 }),
  })
  .chain(some => fc.tuple(runs, runs).map(([coder, reviewer]) => aReview(coder, reviewer, some)));
const intents = fc
  .tuple(fc.constantFrom(...INTENTS), fc.integer({ min: 0, max: 2 }))
  .map(([id, at]) => anIntent(id, at));
const reviewLimits = fc.record({
  lineageId: fc.constantFrom(...RUNS),
  limit: fc.option(fc.integer({ min: 0, max: 9 })),
});
const few = <T>(some: fc.Arbitrary<T>) => fc.array(some, { maxLength: 2 });

const steps = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ squads: few(squads), runs: few(runs), turns: few(turns), events: few(events) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      runs: few(runs),
      reviews: few(reviews),
      intents: few(intents),
      intentsDone: few(fc.constantFrom(...INTENTS)),
      reviewLimits: few(reviewLimits),
      events: few(events),
    }),
  },
  { weight: 2, arbitrary: few(events).map(some => ({ events: some })) },
  { weight: 1, arbitrary: fc.record({ setting: fc.constantFrom('a', 'b'), value: fc.option(fc.string()) }) },
  { weight: 1, arbitrary: fc.record({ forget: fc.subarray(RUNS) }) },
  { weight: 3, arbitrary: fc.constantFrom('tick' as const, 'compare' as const, 'reopen' as const) },
);

test('any mixture of changes, settled or not, leaves what a plain model holds', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 40 }), async sequence => {
      const file = await tempDatabase();
      const model = new Model();
      let store = await openStore({ database: file, version: '1.2.3' });
      let pending: Promise<void>[] = [];
      const settle = async () => {
        await Promise.all(pending);
        pending = [];
      };
      try {
        for (const step of sequence) {
          if (step === 'tick') await new Promise(resolve => setImmediate(resolve));
          else if (step === 'compare') await settle().then(() => compare(store, model));
          else if (step === 'reopen') {
            // Closing comes while changes are queued: they must still be written.
            await store.close();
            await settle();
            store = await openStore({ database: file, version: '1.2.3' });
          } else if ('setting' in step) {
            pending.push(store.setSetting(step.setting, step.value));
            if (step.value === null) model.settings.delete(step.setting);
            else model.settings.set(step.setting, step.value);
          } else if ('forget' in step) {
            pending.push(store.forget(step.forget));
            model.forget(step.forget);
          } else if (model.commit(step)) pending.push(store.commit(step));
          else pending.push(expect(store.commit(step)).rejects.toMatchObject({ code: 'DATABASE_FAILED' }));
        }
        await settle();
        await compare(store, model);
      } finally {
        await store.close();
      }
    }),
    { numRuns: onPostgres ? 20 : 60 },
  );
});

async function compare(store: Store, model: Model): Promise<void> {
  const all = [...model.runs.values()];
  const byAge = (a: Run, b: Run) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1);
  expect(await store.runs({ limit: 100 })).toEqual(all.toSorted(byAge));
  expect(new Set(await store.liveRuns())).toEqual(new Set(all.filter(run => run.status !== 'completed')));
  expect(await store.events({ limit: 1000 })).toEqual(model.events);
  expect(await store.settings()).toEqual(Object.fromEntries(model.settings));
  const reviews = [...model.reviews.values()].toSorted(
    (a, b) => a.requestedAt - b.requestedAt || (a.id < b.id ? -1 : 1),
  );
  expect(await store.reviews({ limit: 100 })).toEqual(reviews);
  const open = reviews.filter(review => review.outcome === null);
  expect(await store.reviews({ isOpen: true, limit: 100 })).toEqual(open);
  const byMoment = (a: Intent, b: Intent) => a.at - b.at || (a.id < b.id ? -1 : 1);
  expect(await store.intents()).toEqual([...model.intents.values()].toSorted(byMoment));
  for (const id of SQUADS) expect(await store.squad(id)).toEqual(model.squads.get(id) ?? null);
  for (const id of RUNS) {
    expect(await store.reviewLimit(id)).toBe(model.limits.get(id) ?? null);
    const turns = [...model.turns.values()].filter(turn => turn.runId === id);
    expect(await store.turns(id)).toEqual(turns.toSorted((a, b) => a.number - b.number));
  }
}
