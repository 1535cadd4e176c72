import { describe, expect, test } from 'vitest';
import type { EventBody } from '../schema/event.ts';
import { newRunId, type RunId, type SquadId } from '../schema/ids.ts';
import { openForTest } from './fixtures/open-for-test.ts';
import { aChat, activity, aRun, aSquad, aTurn, started } from './fixtures/sample-rows.ts';
import { onPostgres, query, tempDatabase } from './fixtures/temp-database.ts';
import { databaseName, openStore } from './open.ts';

const runIds = (runs: { id: RunId }[]) => runs.map(run => run.id);

describe('a run comes back as it was written', () => {
  test('every kind of row, also after reopening', { tags: ['D8'] }, async () => {
    const file = await tempDatabase();
    const squad = aSquad();
    const bare = aSquad({ client: null, metadata: null });
    const parent = aRun(squad);
    const child = aRun(bare, {
      parentId: parent.id,
      chatId: 'chat 1',
      chatIsNew: false,
      keepLeftovers: false,
      model: null,
      stateMode: 'stateless',
      status: 'error',
      error: { code: 'ENGINE_FAILED', message: 'it said "no"' },
      usage: { input: 10, output: 0, cached: null, costUsd: 0.0123, costIsEstimated: false },
      startedAt: 1_700_000_000_100,
      endedAt: 1_700_000_009_999,
    });
    const first = aTurn(child, {
      stop: 'timeout',
      endedAt: 1_700_000_000_500,
      exitCode: 143,
      leftovers: [{ pid: 7, command: 'sleep 100' }],
    });
    const second = aTurn(child, { number: 2, pid: null });
    const chat = aChat(child);
    const writing = await openStore({ database: file, version: '1.2.3' });
    await writing.commit({
      squads: [squad, bare],
      runs: [parent, child],
      turns: [second, first],
      chats: [chat],
      events: [],
    });
    await writing.setSetting('limits.depth', '3');
    await writing.close();

    const store = await openForTest(file);
    expect(await store.squad(squad.id)).toEqual(squad);
    expect(await store.squad(bare.id)).toEqual(bare);
    expect(await store.run(parent.id)).toEqual(parent);
    expect(await store.run(child.id)).toEqual(child);
    expect(await store.turns(child.id)).toEqual([first, second]);
    expect(await store.chat('chat 1')).toEqual(chat);
    expect(await store.settings()).toEqual({ 'limits.depth': '3' });
    expect(await store.run(newRunId())).toBeNull();
    expect(await store.squad('squad_0000000000' as SquadId)).toBeNull();
    expect(await store.chat('other')).toBeNull();
  });

  test('every kind of event, numbered from 1', { tags: ['D8'] }, async () => {
    const store = await openForTest(await tempDatabase());
    const bodies: EventBody[] = [
      { type: 'hub.started', version: '1.2.3', pid: 1 },
      { type: 'hub.recovered', watched: 1, ended: 2, requeued: 3, lost: 4 },
      { type: 'squad.created', members: 2 },
      { type: 'run.queued', roleId: 'coder', engine: 'scripted' },
      { type: 'run.started', turn: 1, pid: 12 },
      { type: 'run.activity', kind: 'tool', text: 'half \ud800 a character' },
      { type: 'run.stopping', reason: 'cancel' },
      {
        type: 'run.ended',
        status: 'cancelled',
        exitCode: null,
        error: { code: 'LOST', message: 'm' },
        usage: { input: null, output: null, cached: null, costUsd: null, costIsEstimated: false },
        leftovers: [{ pid: 1, command: 'x' }],
        durationMs: 12,
      },
      { type: 'tool.called', tool: 't', client: null, ok: false, code: 'INTERNAL', durationMs: 1.5 },
      { type: 'setting.changed', key: 'k', value: null },
      { type: 'runs.pruned', runs: 1, bytes: 2 },
      { type: 'hub.stopped', reason: 'idle' },
    ];
    await store.commit({ events: bodies.map((body, at) => ({ at, runId: null, squadId: null, body })) });
    expect(await store.events({ limit: 100 })).toEqual(
      bodies.map((body, at) => ({ seq: at + 1, at, runId: null, squadId: null, body })),
    );
  });

  test('a row given again replaces the whole row', async () => {
    const store = await openForTest(await tempDatabase());
    const squad = aSquad();
    const run = aRun(squad, { error: { code: 'LOST', message: 'm' } });
    const turn = aTurn(run, { stop: 'cancel' });
    const chat = aChat(run);
    await store.commit({ squads: [squad], runs: [run], turns: [turn], chats: [chat], events: [] });
    const later = {
      squads: [{ ...squad, client: null, metadata: null }],
      runs: [{ ...run, error: null, status: 'completed' as const, endedAt: 9 }],
      turns: [{ ...turn, stop: null, exitCode: 0 }],
      chats: [{ ...chat, runId: null }],
    };
    await store.commit({ ...later, events: [] });
    expect(await store.squad(squad.id)).toEqual(later.squads[0]);
    expect(await store.run(run.id)).toEqual(later.runs[0]);
    expect(await store.turns(run.id)).toEqual(later.turns);
    expect(await store.chat(chat.id)).toEqual(later.chats[0]);
  });

  test('a chat keeps its beginning, and its totals until others are given', async () => {
    const store = await openForTest(await tempDatabase());
    const squad = aSquad();
    const run = aRun(squad);
    const figures = { input: 1000, output: 10, cached: null, costUsd: null };
    const totals = { ...figures, costIsEstimated: false, mark: '12:34' };
    const chat = { ...aChat(run), runId: run.id, totals, createdAt: 5 };
    await store.commit({ squads: [squad], runs: [run], chats: [chat], events: [] });
    await store.commit({ chats: [{ ...chat, runId: null, totals: null, createdAt: 9 }], events: [] });
    expect(await store.chat(chat.id)).toEqual({ ...chat, runId: null });
    const more = { ...totals, input: 1100 };
    await store.commit({ chats: [{ ...chat, runId: null, totals: more }], events: [] });
    expect((await store.chat(chat.id))?.totals).toEqual(more);
  });

  test('a change is written as it was when it was given', async () => {
    const store = await openForTest(await tempDatabase());
    const squad = aSquad();
    const run = aRun(squad);
    const committed = store.commit({ squads: [squad], runs: [run], events: [] });
    run.status = 'completed';
    await committed;
    expect((await store.run(run.id))?.status).toBe('queued');
  });

  test('a setting can be changed and taken back', async () => {
    const store = await openForTest(await tempDatabase());
    await store.setSetting('a', '1');
    await store.setSetting('b', '');
    await store.setSetting('a', '2');
    expect(await store.settings()).toEqual({ a: '2', b: '' });
    await store.setSetting('a', null);
    expect(await store.settings()).toEqual({ b: '' });
  });

  test('JSON that is not what its schema says is a damaged database, by name', async () => {
    const file = await tempDatabase();
    const store = await openForTest(file);
    const squad = aSquad();
    const run = aRun(squad);
    await store.commit({ squads: [squad], runs: [run], events: [started(run)] });
    await query(file, `update runs set usage = '{"input":"many"}'; update events set data = '{'`);
    // A PostgreSQL database is not rebuilt.
    const code = onPostgres ? 'DATABASE_FAILED' : 'DATABASE_CORRUPT';
    const damaged = { code, message: expect.stringContaining(databaseName(file)) };
    await expect(store.run(run.id)).rejects.toMatchObject(damaged);
    await expect(store.events({ limit: 1 })).rejects.toMatchObject(damaged);
    expect(await store.squad(squad.id)).toEqual(squad);
  });
});

describe('asking for runs', () => {
  test('newest first, ties by id; within a squad by position; filters and limits hold', async () => {
    const file = await tempDatabase();
    const store = await openForTest(file);
    const here = aSquad({ workspace: '/here' });
    const there = aSquad({ workspace: '/there' });
    const [a, b] = [newRunId(), newRunId()].sort();
    const old = aRun(here, { createdAt: 10, position: 1, status: 'completed' });
    const tied = [aRun(here, { id: a, createdAt: 20, position: 0 }), aRun(there, { id: b, createdAt: 20 })];
    const fresh = aRun(here, { createdAt: 30, position: 2, status: 'running' });
    await store.commit({ squads: [here, there], runs: [fresh, old, ...tied], events: [] });

    expect(runIds(await store.runs({ limit: 10 }))).toEqual([fresh.id, a, b, old.id]);
    expect(runIds(await store.runs({ limit: 2 }))).toEqual([fresh.id, a]);
    expect(runIds(await store.runs({ limit: 10, before: 20 }))).toEqual([old.id]);
    expect(runIds(await store.runs({ limit: 10, workspace: '/here' }))).toEqual([fresh.id, a, old.id]);
    expect(runIds(await store.runs({ limit: 10, squadId: here.id }))).toEqual([a, old.id, fresh.id]);
    expect(runIds(await store.runs({ limit: 10, status: ['running', 'completed'] }))).toEqual([
      fresh.id,
      old.id,
    ]);
    expect(await store.runs({ limit: 10, status: [] })).toEqual([]);

    // The order must be asked for, not be a gift of the index that happens to be used.
    await query(file, 'drop index runs_of_squad');
    expect(runIds(await store.runs({ limit: 10, squadId: here.id }))).toEqual([a, old.id, fresh.id]);
  });

  test('live ones come oldest first, a squad’s in the order they were asked for', async () => {
    const store = await openForTest(await tempDatabase());
    const [first, second] = [aSquad(), aSquad()];
    const ids = Array.from({ length: 6 }, newRunId).sort().reverse();
    const members = (squad: typeof first, of: RunId[], createdAt: number) =>
      of.map((id, position) => aRun(squad, { id, position, createdAt }));
    const runs = [...members(first, ids.slice(0, 3), 10), ...members(second, ids.slice(3), 20)];
    const ended = aRun(first, { createdAt: 10, position: 3, status: 'lost' });
    await store.commit({ squads: [first, second], runs: [ended, ...runs.toReversed()], events: [] });
    expect(runIds(await store.liveRuns())).toEqual(ids);
  });

  test('live ones that were asked to stop are distinguished from others and from ended ones', async () => {
    const store = await openForTest(await tempDatabase());
    const squad = aSquad();
    const [queued, asked, earlier, over] = [
      aRun(squad, { status: 'queued' }),
      aRun(squad, { status: 'queued' }),
      aRun(squad, { status: 'waiting_review' }),
      aRun(squad, { status: 'cancelled', endedAt: 9 }),
    ];
    const stopping = ({ id }: { id: RunId }) =>
      ({ at: 1, runId: id, squadId: squad.id, body: { type: 'run.stopping', reason: 'cancel' } }) as const;
    const ended = { type: 'run.turn_ended' as const, turn: 1, exitCode: 0 };
    await store.commit({
      squads: [squad],
      runs: [queued, asked, earlier, over],
      events: [
        ...[started(queued), stopping(asked), stopping(asked), stopping(earlier), stopping(over)],
        { at: 2, runId: earlier.id, squadId: squad.id, body: ended },
      ],
    });
    expect(await store.runsAskedToStop()).toEqual(new Set([asked.id, earlier.id]));
  });

  test('ended runs come oldest end first, and live ones never', async () => {
    const store = await openForTest(await tempDatabase());
    const squad = aSquad();
    const ends = [300, 100, null, 200, 400].map(endedAt =>
      aRun(squad, { endedAt, status: endedAt ? 'completed' : 'running' }),
    );
    await store.commit({ squads: [squad], runs: ends, events: [] });
    const found = await store.endedBefore(400, 10);
    expect(found.map(run => run.endedAt)).toEqual([100, 200, 300]);
    expect(runIds(await store.endedBefore(400, 1))).toEqual([ends[1]!.id]);
    expect(await store.countEndedBefore(400)).toBe(3);
  });

  test('ids are found by their beginning, with or without the tag, newest first', async () => {
    const store = await openForTest(await tempDatabase());
    const squad = aSquad({ id: 'squad_abc0000000' as SquadId, createdAt: 20 });
    const runs = ['run_abc0000000', 'run_abcz000000', 'run_abd0000000'].map((id, at) =>
      aRun(squad, { id: id as RunId, createdAt: at * 15 }),
    );
    await store.commit({ squads: [squad], runs, events: [] });
    expect(await store.idsLike('abc', 10)).toEqual(['squad_abc0000000', 'run_abcz000000', 'run_abc0000000']);
    expect(await store.idsLike('run_ab', 10)).toEqual(['run_abd0000000', 'run_abcz000000', 'run_abc0000000']);
    expect(await store.idsLike('squad_', 10)).toEqual(['squad_abc0000000']);
    expect(await store.idsLike('run_abcz000000', 10)).toEqual(['run_abcz000000']);
    expect(await store.idsLike('', 2)).toEqual(['run_abd0000000', 'squad_abc0000000']);
    for (const hostile of ['%', 'run_%', "a' or 1=1", 'ABC', 'run_run_', 'abc_'])
      expect(await store.idsLike(hostile, 10)).toEqual([]);
    expect(await store.recentIds(3)).toEqual(['run_abd0000000', 'squad_abc0000000', 'run_abcz000000']);
  });
});

test('events can be asked for by run, squad, kind, place and direction', async () => {
  const store = await openForTest(await tempDatabase());
  const squad = aSquad();
  const [one, two] = [aRun(squad), aRun(squad)];
  const created = {
    at: 1,
    runId: null,
    squadId: squad.id,
    body: { type: 'squad.created' as const, members: 2 },
  };
  const events = [created, started(one), activity(one, 'a'), started(two), activity(one, 'b')];
  await store.commit({ squads: [squad], runs: [one, two], events });
  const seqs = async (filter: Omit<Parameters<typeof store.events>[0], 'limit'>, limit = 10) =>
    (await store.events({ ...filter, limit })).map(event => event.seq);
  expect(await seqs({ runId: one.id })).toEqual([2, 3, 5]);
  expect(await seqs({ squadId: squad.id })).toEqual([1, 2, 3, 4, 5]);
  expect(await seqs({ types: ['run.started', 'squad.created'] })).toEqual([1, 2, 4]);
  expect(await seqs({ types: [] })).toEqual([]);
  expect(await seqs({ after: 3 })).toEqual([4, 5]);
  expect(await seqs({ after: 2, runId: one.id, types: ['run.activity'] }, 1)).toEqual([3]);
  expect(await seqs({ runId: one.id, reverse: true }, 2)).toEqual([5, 3]);
});

test('events of a workspace are those of its runs and squads, and of the hub', async () => {
  const store = await openForTest(await tempDatabase());
  const squads = ['/here', '/there'].map(workspace => aSquad({ workspace }));
  const [here, there] = squads.map(squad => aRun(squad, { workspace: squad.workspace }));
  const events = [
    { at: 1, runId: null, squadId: null, body: { type: 'hub.started' as const, version: '1', pid: 1 } },
    ...squads.map(({ id: squadId }) => ({
      ...{ at: 1, runId: null, squadId },
      body: { type: 'squad.created' as const, members: 1 },
    })),
    ...[started(there!), started(here!), activity(there!, 'a'), activity(here!, 'b')],
  ];
  await store.commit({ squads, runs: [here!, there!], events });
  const seqs = async (workspace: string, filter: object = {}) =>
    (await store.events({ workspace, limit: 10, ...filter })).map(event => event.seq);
  expect(await seqs('/here')).toEqual([1, 2, 5, 7]);
  expect(await seqs('/there')).toEqual([1, 3, 4, 6]);
  expect(await seqs('/nowhere')).toEqual([1]);
  expect(await seqs('/here', { reverse: true, limit: 2 })).toEqual([7, 5]);
  expect(await seqs('/here', { types: ['run.started'] })).toEqual([5]);
});

describe('forgetting runs', () => {
  test('takes their turns and events, and only squads and chats nothing refers to', async () => {
    const store = await openForTest(await tempDatabase());
    const [gone, kept] = [aSquad(), aSquad()];
    const runs = [
      aRun(gone, { chatId: 'only mine' }),
      aRun(kept, { chatId: 'shared', position: 0 }),
      aRun(kept, { chatId: 'shared', position: 1 }),
    ] as const;
    const created = {
      at: 1,
      runId: null,
      squadId: gone.id,
      body: { type: 'squad.created' as const, members: 1 },
    };
    await store.commit({
      squads: [gone, kept],
      runs: [...runs],
      turns: runs.map(run => aTurn(run)),
      chats: [
        aChat(null, { id: 'only mine' }),
        aChat(runs[1], { id: 'shared' }),
        aChat(null, { id: 'of nobody yet' }),
        aChat(runs[0], { id: 'held' }),
      ],
      events: [created, ...runs.map(run => started(run))],
    });
    await store.forget([runs[0].id, runs[1].id, newRunId()]);

    expect(runIds(await store.runs({ limit: 10 }))).toEqual([runs[2].id]);
    expect(await store.turns(runs[0].id)).toEqual([]);
    expect(await store.turns(runs[2].id)).toHaveLength(1);
    expect((await store.events({ limit: 10 })).map(event => event.runId)).toEqual([runs[2].id]);
    expect(await store.squad(gone.id)).toBeNull();
    expect(await store.squad(kept.id)).toEqual(kept);
    expect(await store.chat('only mine')).toBeNull();
    expect(await store.chat('held')).toBeNull();
    expect((await store.chat('shared'))?.runId).toBeNull();
    expect(await store.chat('of nobody yet')).not.toBeNull();
  });

  test('works for more runs than one statement can name, and numbers are never used again', async () => {
    const store = await openForTest(await tempDatabase());
    const squad = aSquad();
    const runs = Array.from({ length: 1201 }, (_, position) => aRun(squad, { position }));
    await store.commit({ squads: [squad], runs, events: runs.map(run => started(run)) });
    await store.forget(runIds(runs));
    expect(await store.recentIds(10)).toEqual([]);
    expect(await store.events({ limit: 10 })).toEqual([]);
    await store.forget([]);
    await store.commit({ squads: [squad], runs: [runs[0]!], events: [started(runs[0]!)] });
    expect((await store.events({ limit: 10 })).map(event => event.seq)).toEqual([1202]);
  });
});
