import { describe, expect, test } from 'vitest';
import type { Change } from '../core/ports/store.ts';
import { HubSettings } from '../schema/config.ts';
import { newReviewId, newRunId, type RunId } from '../schema/ids.ts';
import type { Intent } from '../schema/review.ts';
import { openForTest, openWatched } from './fixtures/open-for-test.ts';
import { activity, anIntent, aReview, aRun, aSquad, aWorktree, started } from './fixtures/sample-rows.ts';
import { onPostgres, query, tempDatabase } from './fixtures/temp-database.ts';
import { databaseName, openStore } from './open.ts';

/** A coder and its reviewer, in squads of their own. */
function pair(workspace = '/project') {
  const [squad, other] = [aSquad({ workspace }), aSquad({ workspace })];
  const coder = aRun(squad, { worktree: aWorktree(), status: 'waiting_review' });
  const { id, lineageId } = coder;
  const reviewer = aRun(other, { type: 'review', parentId: id, reviewOf: id, lineageId, turn: 3 });
  return { squads: [squad, other], runs: [coder, reviewer], coder, reviewer };
}

describe('a review comes back as it was written', () => {
  test('reviews, intents and limits, also after reopening', async () => {
    const file = await tempDatabase();
    const { squads, runs, coder, reviewer } = pair();
    const closed = aReview(coder, reviewer, {
      outcome: 'needs_work',
      reason: 'tests are red',
      feedback: 'Say "why"; $(rm) `x`\n😀',
      priority: 'high',
      actionableItems: ['one', 'ü "two"'],
      feedbackBy: 'user',
      feedbackCommit: 'd'.repeat(40),
      closedAt: 1_700_000_005_000,
      toldInTurn: 2,
    });
    const open = aReview(coder, reviewer, { iteration: 2, completionMessage: null });
    const intents = everyIntent(coder.id, reviewer.id);
    const writing = await openStore({ database: file, version: '1.2.3' });
    const reviewLimits = [{ lineageId: coder.lineageId, limit: 6 }];
    await writing.commit({ squads, runs, reviews: [open, closed], intents, reviewLimits, events: [] });
    await writing.close();

    const store = await openForTest(file);
    expect(await store.run(coder.id)).toEqual(coder);
    expect(await store.run(reviewer.id)).toEqual(reviewer);
    expect(await store.review(closed.id)).toEqual(closed);
    expect(await store.reviews({ limit: 9 })).toEqual([closed, open]);
    expect(await store.intents()).toEqual(intents);
    expect(await store.reviewLimit(coder.lineageId)).toBe(6);
    expect(await store.review(newReviewId())).toBeNull();
    expect(await store.reviewLimit(newRunId())).toBeNull();
  });

  test('a review and an intent given again replace the whole row, a limit can be taken back', async () => {
    const store = await openForTest(await tempDatabase());
    const { squads, runs, coder, reviewer } = pair();
    const review = aReview(coder, reviewer, { feedback: 'first', actionableItems: ['one'] });
    const lineageId = coder.lineageId;
    const reviewLimits = [{ lineageId, limit: 4 }];
    await store.commit({
      squads,
      runs,
      reviews: [review],
      intents: [anIntent('a')],
      reviewLimits,
      events: [],
    });
    const later = {
      ...review,
      feedback: null,
      actionableItems: [],
      outcome: 'timeout' as const,
      closedAt: 9,
    };
    const again = anIntent('a', 12);
    await store.commit({
      reviews: [later],
      intents: [again],
      reviewLimits: [{ lineageId, limit: 5 }],
      events: [],
    });
    expect(await store.review(review.id)).toEqual(later);
    expect(await store.intents()).toEqual([again]);
    expect(await store.reviewLimit(lineageId)).toBe(5);
    await store.commit({ reviewLimits: [{ lineageId, limit: null }], events: [] });
    expect(await store.reviewLimit(lineageId)).toBeNull();
  });

  test('they are written as they were when they were given', async () => {
    const store = await openForTest(await tempDatabase());
    const { squads, runs, coder, reviewer } = pair();
    const review = aReview(coder, reviewer);
    const limit = { lineageId: coder.lineageId, limit: 4 as number | null };
    const intentsDone = ['a'];
    await store.commit({ intents: [anIntent('a'), anIntent('b')], events: [] });
    const committed = store.commit({
      squads,
      runs,
      reviews: [review],
      intentsDone,
      reviewLimits: [limit],
      events: [],
    });
    review.outcome = 'approved';
    intentsDone.push('b');
    limit.limit = null;
    await committed;
    expect((await store.review(review.id))?.outcome).toBeNull();
    expect((await store.intents()).map(({ id }) => id)).toEqual(['b']);
    expect(await store.reviewLimit(coder.lineageId)).toBe(4);
  });

  test('JSON that is not what its schema says is a damaged database, by name', async () => {
    const file = await tempDatabase();
    const store = await openForTest(file);
    const { squads, runs, coder, reviewer } = pair();
    const review = aReview(coder, reviewer);
    await store.commit({ squads, runs, reviews: [review], intents: [anIntent('a')], events: [] });
    await query(
      file,
      `update reviews set actionable_items = '[1]'; update intents set kind = 'dance'; update runs set worktree = '{}'`,
    );
    const code = onPostgres ? 'DATABASE_FAILED' : 'DATABASE_CORRUPT';
    const damaged = { code, message: expect.stringContaining(databaseName(file)) };
    await expect(store.review(review.id)).rejects.toMatchObject(damaged);
    await expect(store.intents()).rejects.toMatchObject(damaged);
    await expect(store.run(coder.id)).rejects.toMatchObject(damaged);
  });
});

describe('all of a change or none of it', () => {
  test('a run of a squad nobody knows takes the rest of its change with it', async () => {
    const store = await openForTest(await tempDatabase());
    const { squads, runs, coder, reviewer } = pair();
    await store.commit({ intents: [anIntent('under way')], events: [] });
    const refused = store.commit({
      squads,
      runs: [...runs, aRun(aSquad())],
      reviews: [aReview(coder, reviewer)],
      intents: [anIntent('new')],
      intentsDone: ['under way'],
      reviewLimits: [{ lineageId: coder.lineageId, limit: 9 }],
      events: [started(coder)],
    });
    const beside = store.commit({ intents: [anIntent('beside')], events: [] });
    await expect(refused).rejects.toMatchObject({ code: 'DATABASE_FAILED' });
    await beside;
    expect(await store.runs({ limit: 9 })).toEqual([]);
    expect(await store.reviews({ limit: 9 })).toEqual([]);
    expect((await store.intents()).map(({ id }) => id)).toEqual(['beside', 'under way']);
    expect(await store.reviewLimit(coder.lineageId)).toBeNull();
    expect(await store.events({ limit: 9 })).toEqual([]);
  });

  test('an intent is gone with the change that says it is done, also with the one that brings it', async () => {
    const store = await openForTest(await tempDatabase());
    const { squads, runs, coder, reviewer } = pair();
    await store.commit({ intents: [anIntent('a', 1), anIntent('b', 2)], events: [] });
    await store.commit({
      squads,
      runs,
      reviews: [aReview(coder, reviewer)],
      intents: [anIntent('c')],
      intentsDone: ['a', 'c', 'never was'],
      events: [],
    });
    expect((await store.intents()).map(({ id }) => id)).toEqual(['b']);
    expect(await store.reviews({ limit: 9 })).toHaveLength(1);
  });

  test('none of them is kept waiting for others to join, as news of an agent is', async () => {
    const { store, transactions } = await openWatched(await tempDatabase(), 1000);
    const { squads, runs, coder, reviewer } = pair();
    await store.commit({ squads, runs, events: [] });
    const given: Omit<Change, 'events'>[] = [
      { reviews: [aReview(coder, reviewer)] },
      { intents: [anIntent('a')] },
      { intentsDone: ['a'] },
      { reviewLimits: [{ lineageId: coder.lineageId, limit: 1 }] },
    ];
    const nextTurn = () => new Promise(resolve => setImmediate(resolve));
    const isDue = async (change: Omit<Change, 'events'>) => {
      const before = transactions();
      const committed = store.commit({ ...change, events: [activity(coder, 'x')] });
      await nextTurn();
      const due = transactions() > before;
      await committed;
      return due;
    };
    for (const change of given) expect(await isDue(change)).toBe(true);
  });
});

test('reviews come oldest first, by task, coder, reviewer, workspace, and only the open ones', async () => {
  const store = await openForTest(await tempDatabase());
  const [here, there] = [pair('/here'), pair('/there')];
  const [low, high, ...ids] = Array.from({ length: 4 }, newReviewId).sort();
  const late = aReview(here.coder, here.reviewer, { requestedAt: 30, iteration: 3 });
  const done = { requestedAt: 10, outcome: 'needs_work' as const, closedAt: 20 };
  const early = aReview(here.coder, here.reviewer, { ...done, id: high, iteration: 1 });
  const second = aReview(here.coder, here.coder, { ...done, id: low, iteration: 2 });
  const tied = ids.map(id => aReview(there.coder, there.reviewer, { id, requestedAt: 20 }));
  const reviews = [late, ...tied.toReversed(), second, early];
  const squads = [...here.squads, ...there.squads];
  await store.commit({ squads, runs: [...here.runs, ...there.runs], reviews, events: [] });

  const found = async (filter: Omit<Parameters<typeof store.reviews>[0], 'limit'>, limit = 9) =>
    (await store.reviews({ ...filter, limit })).map(({ id }) => id);
  expect(await found({})).toEqual([early.id, second.id, ...ids, late.id]);
  expect(await found({}, 2)).toEqual([early.id, second.id]);
  expect(await found({ lineageId: here.coder.lineageId })).toEqual([early.id, second.id, late.id]);
  expect(await found({ coderId: there.coder.id })).toEqual(ids);
  expect(await found({ reviewerId: here.reviewer.id })).toEqual([early.id, late.id]);
  expect(await found({ workspace: '/here' })).toEqual([early.id, second.id, late.id]);
  expect(await found({ workspace: '/nowhere' })).toEqual([]);
  expect(await found({ isOpen: true })).toEqual([...ids, late.id]);
  expect(await found({ isOpen: true, workspace: '/here', lineageId: here.coder.id })).toEqual([late.id]);
});

test('lineages with reviews are found by a run that has not ended, whichever run of them that is', async () => {
  const store = await openForTest(await tempDatabase());
  const [open, over] = [pair(), pair()];
  const squad = aSquad();
  const unreviewed = aRun(squad, { status: 'queued' });
  const child = aRun(squad, { status: 'queued', lineageId: over.coder.lineageId });
  const ended = over.runs.map(run => ({ ...run, status: 'completed' as const, endedAt: 9 }));
  await store.commit({
    squads: [...open.squads, ...over.squads, squad],
    runs: [...open.runs, ...ended, unreviewed],
    reviews: [aReview(open.coder, open.reviewer), aReview(over.coder, over.reviewer)],
    events: [],
  });
  expect(await store.reviewedLineages()).toEqual([open.coder.lineageId]);
  await store.commit({ runs: [child], events: [] });
  const both = [open.coder.lineageId, over.coder.lineageId];
  expect((await store.reviewedLineages()).sort()).toEqual(both.sort());
});

test('runs can be asked for by task and by whether they have a work tree', async () => {
  const store = await openForTest(await tempDatabase());
  const [one, two] = [pair(), pair()];
  const lone = aRun(one.squads[0]!, { createdAt: 5, worktree: aWorktree(), status: 'completed' });
  await store.commit({
    squads: [...one.squads, ...two.squads],
    runs: [...one.runs, ...two.runs, lone],
    events: [],
  });
  const found = async (filter: Omit<Parameters<typeof store.runs>[0], 'limit'>) =>
    new Set((await store.runs({ ...filter, limit: 9 })).map(({ id }) => id));
  expect(await found({ lineageId: one.coder.id })).toEqual(new Set([one.coder.id, one.reviewer.id]));
  expect(await found({ hasWorktree: true })).toEqual(new Set([one.coder.id, two.coder.id, lone.id]));
  expect(await found({ hasWorktree: true, status: ['completed'] })).toEqual(new Set([lone.id]));
  expect(await found({ hasWorktree: true, lineageId: two.coder.id })).toEqual(new Set([two.coder.id]));
});

describe('forgetting runs', () => {
  test('takes the reviews of a task with its last run, and leaves those of other tasks', async () => {
    const store = await openForTest(await tempDatabase());
    const [gone, kept] = [pair(), pair()];
    const stays = aReview(kept.coder, kept.reviewer);
    await store.commit({
      squads: [...gone.squads, ...kept.squads],
      runs: [...gone.runs, ...kept.runs],
      reviews: [aReview(gone.coder, gone.reviewer), aReview(gone.coder, gone.reviewer), stays],
      events: [],
    });
    await store.forget([gone.coder.id, gone.reviewer.id]);
    expect(await store.reviews({ limit: 9 })).toEqual([stays]);
  });

  test('leaves a task its rounds while any run of it is left, but none that nobody could close', async () => {
    const store = await openForTest(await tempDatabase());
    const { squads, runs, coder, reviewer } = pair();
    const done = aReview(coder, reviewer, { outcome: 'needs_work', closedAt: 9 });
    const retry = aRun(squads[0]!, { lineageId: coder.lineageId });
    await store.commit({
      ...{ squads, runs: [...runs, retry], reviews: [done, aReview(coder, reviewer, { outcome: null })] },
      events: [],
    });
    await store.forget([coder.id, reviewer.id]);
    expect(await store.reviews({ lineageId: coder.lineageId, limit: 9 })).toEqual([done]);
    await store.forget([retry.id]);
    expect(await store.reviews({ limit: 9 })).toEqual([]);
  });

  test('leaves a review whose reviewer alone is forgotten', async () => {
    const store = await openForTest(await tempDatabase());
    const { squads, runs, coder, reviewer } = pair();
    const review = aReview(coder, reviewer, { outcome: 'approved', closedAt: 9 });
    await store.commit({ squads, runs, reviews: [review], events: [] });
    await store.forget([reviewer.id]);
    expect(await store.review(review.id)).toEqual(review);
    expect(await store.run(reviewer.id)).toBeNull();
  });

  test('leaves a task its limit until its last run goes', async () => {
    const store = await openForTest(await tempDatabase());
    const [task, other] = [pair(), pair()];
    const lineageId = task.coder.lineageId;
    await store.commit({
      squads: [...task.squads, ...other.squads],
      runs: [...task.runs, ...other.runs],
      reviewLimits: [
        { lineageId, limit: 6 },
        { lineageId: other.coder.lineageId, limit: 8 },
      ],
      events: [],
    });
    await store.forget([task.coder.id]);
    expect(await store.reviewLimit(lineageId)).toBe(6);
    await store.forget([task.reviewer.id]);
    expect(await store.reviewLimit(lineageId)).toBeNull();
    expect(await store.reviewLimit(other.coder.lineageId)).toBe(8);
  });
});

/** By age, two of the same moment by id. */
function everyIntent(coderId: RunId, reviewerId: RunId): Intent[] {
  const tree = aWorktree();
  const asked = { kind: 'create_pull_request' as const, runId: reviewerId, ofRunId: coderId, tree };
  const reviewerTree = aWorktree({ baseBranch: null });
  const both = { coderId, reviewerId, coderTree: tree, reviewerTree };
  return [
    { id: 'z', at: 1, kind: 'request_review', ...both, move: null },
    anIntent('y', 2),
    { id: 'a', at: 3, ...asked, move: { from: 'a', to: 'b' } },
    { id: 'b', at: 3, ...asked, move: null },
    { id: 'c', at: 4, kind: 'abandon', lineageId: coderId, why: 'It takes too long' },
  ];
}

describe('the views of the database', () => {
  /** The query that the specification of review loops gives, word for word. */
  const LOOP_PROTECTION = `
    SELECT COALESCE(MAX(review_iteration), 0) as current_iteration
    FROM instance_relationships
    WHERE parent_instance = :coding_agent_id
        AND relationship_type = 'spawned_review';`;

  test('answer the loop protection query, and name instances, relationships, events and settings', {
    tags: ['D8'],
  }, async () => {
    const file = await tempDatabase();
    const { squads, runs, coder, reviewer } = pair();
    const child = aRun(squads[0]!, { parentId: coder.id });
    const store = await openForTest(file);
    const body = {
      type: 'tool.called' as const,
      tool: 'send_feedback',
      client: 'c 1',
      ok: false,
      code: 'REVIEW_OVER',
      durationMs: 3,
    };
    await store.commit({
      squads,
      runs: [...runs, child],
      reviews: [aReview(coder, reviewer), aReview(coder, reviewer, { iteration: 2 })],
      events: [{ at: 5, runId: reviewer.id, squadId: null, body }],
    });
    await store.setSetting('review.max_iterations', '7');
    const rows = (text: string) => query(file, text);
    const iteration = (id: string) => rows(LOOP_PROTECTION.replace(':coding_agent_id', `'${id}'`));
    expect(await iteration(coder.id)).toEqual([{ current_iteration: 2 }]);
    expect(await iteration(child.id)).toEqual([{ current_iteration: 0 }]);
    expect(
      await rows(`select * from instance_relationships where relationship_type = 'spawned'`),
    ).toMatchObject([{ parent_instance: coder.id, child_instance: child.id, review_iteration: null }]);
    expect(
      await rows(`select type, status, worktree_path, branch_name from instances where id = '${coder.id}'`),
    ).toEqual([
      {
        type: coder.type,
        status: 'waiting_review',
        worktree_path: coder.worktree!.path,
        branch_name: coder.worktree!.branch,
      },
    ]);
    expect(await rows('select * from mcp_events')).toEqual([
      expect.objectContaining({
        instance_id: reviewer.id,
        event_type: 'tool.called',
        tool_name: 'send_feedback',
        success: 0,
        error_code: 'REVIEW_OVER',
      }),
    ]);
    expect(await rows('select * from user_config order by key')).toEqual([
      { key: 'review.auto_abandon_after', value: '5', is_encrypted: 0 },
      { key: 'review.max_iterations', value: '7', is_encrypted: 0 },
      { key: 'review.timeout_hours', value: '24', is_encrypted: 0 },
    ]);
    const defaults = HubSettings.parse({});
    for (const { key, value } of (await rows("select * from user_config where key like 'review.%'")) as {
      key: keyof HubSettings;
      value: string;
    }[])
      if (key !== 'review.max_iterations') expect(value).toBe(String(defaults[key]));
  });
});
