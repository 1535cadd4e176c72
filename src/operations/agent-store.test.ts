import { expect, test } from 'vitest';
import { allowed, type RunSubject } from '../core/policy.ts';
import type { Store } from '../core/ports/store.ts';
import type { Run } from '../schema/run.ts';
import { NO_SANDBOX } from '../schema/sandbox.ts';
import { openForTest } from '../store/fixtures/open-for-test.ts';
import { anIntent, aReview, aRun, aSquad, aWorktree } from '../store/fixtures/sample-rows.ts';
import { tempFile } from '../store/fixtures/temp-file.ts';
import { agentStore, RunVisibility } from './agent-store.ts';
import type { AgentStore } from './operation.ts';
import { listRuns } from './runs/list-runs.ts';

/** The store as this run has it when it asks for a list. */
function asSeenBy(store: Store, run: Run): AgentStore {
  const subject: RunSubject = {
    ...{ kind: 'run', id: run.id, squadId: run.squadId, depth: run.depth, isLive: true },
    ...{ type: run.type, reviewOf: run.reviewOf, lineageId: null, isProven: true },
    ...{ parentId: run.parentId, messages: [] },
    ...{ spawn: true, records: false, permission: 'edit', worktree: run.worktree, tools: null },
    sandbox: NO_SANDBOX,
  };
  const runner = { current: () => null } as unknown as ConstructorParameters<
    typeof RunVisibility
  >[0]['runner'];
  const visibility = new RunVisibility({ runner, store }, asked => allowed(subject, listRuns, asked));
  return agentStore(store, subject, visibility);
}

/** Two tasks of one user: a planner that started a coder, which is reviewed, and started it again; and a coder of somebody else. */
async function twoTasks() {
  const store = await openForTest(tempFile());
  const squad = aSquad();
  const planner = aRun(squad, { createdAt: 1 });
  const coder = aRun(squad, { createdAt: 2, parentId: planner.id, worktree: aWorktree() });
  const { lineageId } = coder;
  const reviewer = aRun(squad, { createdAt: 3, parentId: coder.id, reviewOf: coder.id, lineageId });
  const retry = aRun(squad, { createdAt: 6, parentId: planner.id, lineageId });
  const stranger = aRun(squad, { createdAt: 4, worktree: aWorktree() });
  const other = aRun(squad, { createdAt: 5, parentId: stranger.id, lineageId: stranger.lineageId });
  const review = aReview(coder, reviewer, { requestedAt: 20 });
  const foreign = aReview(stranger, other, { requestedAt: 10 });
  await store.commit({
    squads: [squad],
    runs: [planner, coder, reviewer, retry, stranger, other],
    reviews: [review, foreign],
    intents: [anIntent('under way')],
    reviewLimits: [
      { lineageId, limit: 4 },
      { lineageId: stranger.lineageId, limit: 9 },
    ],
    events: [],
  });
  return { store, planner, coder, reviewer, retry, stranger, review, foreign };
}

test('an agent has the reviews of runs it may see, whichever side of them, and no others', async () => {
  const { store, planner, coder, reviewer, review, foreign } = await twoTasks();
  for (const run of [planner, coder, reviewer]) {
    const own = asSeenBy(store, run);
    expect(await own.reviews({ limit: 1 })).toEqual([review]);
    expect(await own.review(review.id)).toEqual(review);
    expect(await own.review(foreign.id)).toBeNull();
    expect(await own.reviews({ coderId: foreign.coderId, limit: 9 })).toEqual([]);
  }
});

test('an agent has the limit of a task in which it may see a run, and nothing that is half done', async () => {
  const { store, coder, reviewer, stranger } = await twoTasks();
  for (const run of [coder, reviewer]) {
    const own = asSeenBy(store, run);
    expect(await own.reviewLimit(coder.lineageId)).toBe(4);
    expect(await own.reviewLimit(stranger.lineageId)).toBeNull();
    expect(own).not.toHaveProperty('intents');
  }
});

test('an agent finds its runs by task and by work tree, and nobody else’s', async () => {
  const { store, planner, coder, reviewer, retry, stranger } = await twoTasks();
  const own = asSeenBy(store, planner);
  expect(await own.runs({ hasWorktree: true, limit: 9 })).toEqual([coder]);
  expect(await own.runs({ lineageId: coder.lineageId, limit: 9 })).toEqual([retry, reviewer, coder]);
  expect(await own.runs({ lineageId: coder.lineageId, limit: 1 })).toEqual([retry]);
  expect(await own.runs({ lineageId: coder.lineageId, hasWorktree: true, limit: 9 })).toEqual([coder]);
  expect(await own.runs({ lineageId: stranger.lineageId, limit: 9 })).toEqual([]);
  const below = asSeenBy(store, reviewer);
  expect(await below.runs({ lineageId: coder.lineageId, limit: 1 })).toEqual([reviewer]);
});

test('an agent has these reads and nothing else of the store', async () => {
  const { store, planner } = await twoTasks();
  expect(Object.keys(asSeenBy(store, planner)).sort()).toEqual([
    ...[
      'events',
      'figures',
      'follow',
      'hubsOf',
      'idsLike',
      'leftWithError',
      'liveElsewhere',
      'liveRuns',
      'onEvents',
      'otherOwner',
    ],
    ...['recentIds', 'requestStop', 'review', 'reviewLimit', 'reviews', 'run', 'runs', 'spent', 'squad'],
    ...['squadsOfBacklog', 'turns'],
  ]);
});

test('an agent sees what its own runs have spent, not what others have', async () => {
  const { store, planner, coder, stranger } = await twoTasks();
  const usage = { input: 0, output: 0, cached: 0, costIsEstimated: false };
  const spend = (run: Run, costUsd: number): Run => ({ ...run, usage: { ...usage, costUsd } });
  await store.commit({ runs: [spend(coder, 2), spend(stranger, 40)], events: [] });
  const own = asSeenBy(store, planner);
  expect(await own.spent({})).toBe(2);
  expect(await own.spent({ squadId: stranger.squadId })).toBe(2);
  expect(await own.spent({ since: coder.createdAt + 1 })).toBe(0);
});
