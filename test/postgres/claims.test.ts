import { expect, onTestFinished, test } from 'vitest';
import { createPinRegistry } from '../../src/gateway/upstream/pins.ts';
import { aChat, activity, aRun, aSquad } from '../../src/store/fixtures/sample-rows.ts';
import { newSchema, query } from '../../src/store/fixtures/temp-database.ts';
import { openStore } from '../../src/store/open.ts';
import { GitSquad, script } from '../support/git-squad.ts';

const clock = { now: () => Date.now(), monotonic: () => performance.now() };

async function hubs(...ids: string[]) {
  const database = await newSchema();
  return Promise.all(
    ids.map(async id => {
      const home = { id, home: `/home/${id}` };
      const store = await openStore({ database, version: '1.2.3', home, busyRetryMs: 20_000 });
      onTestFinished(() => store.close());
      return store;
    }),
  );
}

type Store = Awaited<ReturnType<typeof hubs>>[number];

/** A new run, saved as the hub saves it. */
async function save(store: Store, maxStarts: number, chatId: string | null = null) {
  const squad = aSquad();
  const run = aRun(squad, { status: 'queued', createdAt: Date.now(), chatId });
  const admission = { starts: 1, maxStarts, chats: chatId === null ? [] : [chatId] };
  await store.commit({ squads: [squad], runs: [run], admission, events: [activity(run, 'queued')] });
  return run;
}

test('the starts per minute are those of all hubs, however many save runs at once', {
  tags: ['H6'],
}, async () => {
  const all = await hubs('one', 'two', 'three');
  const saved = await Promise.allSettled(
    Array.from({ length: 30 }, (_, at) => save(all[at % all.length]!, 10)),
  );
  const refused = saved.flatMap(each => (each.status === 'rejected' ? [each.reason] : []));
  expect(refused).toHaveLength(20);
  for (const reason of refused)
    expect(reason).toMatchObject({
      code: 'SPAWN_RATE_LIMIT',
      message: expect.stringContaining('1 more run would make 11 starts in a minute; the limit is 10'),
    });
  expect(await all[0]!.runs({ limit: 99 })).toHaveLength(10);
  // Nothing of a refused change is written.
  expect(await all[0]!.events({ limit: 99 })).toHaveLength(10);
});

test('a chat is used by one run of all hubs at a time, and by another hub afterwards', {
  tags: ['H6'],
}, async () => {
  const [one, two] = (await hubs('one', 'two')) as [Store, Store];
  const both = await Promise.allSettled([save(one, 99, 'chat'), save(two, 99, 'chat')]);
  const winner = both[0]!.status === 'fulfilled' ? one : two;
  const loser = winner === one ? two : one;
  const [run] = both.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []));
  const [refusal] = both.flatMap(each => (each.status === 'rejected' ? [each.reason] : []));
  expect(refusal).toMatchObject({ code: 'CHAT_BUSY', message: expect.stringContaining(run!.id) });
  const held = { ...aChat(run!), id: 'chat', runId: run!.id };
  await winner.commit({ chats: [held], events: [] });
  await expect(loser.commit({ chats: [{ ...held, runId: null }], events: [] })).rejects.toMatchObject({
    code: 'RUN_ELSEWHERE',
  });
  await winner.commit({
    runs: [{ ...run!, status: 'completed', endedAt: 5 }],
    chats: [{ ...held, runId: null }],
    events: [],
  });
  const next = await save(loser, 99, 'chat');
  await loser.commit({ chats: [{ ...held, runId: next.id }], events: [] });
  await expect(save(winner, 99, 'chat')).rejects.toMatchObject({ code: 'CHAT_BUSY' });
  await expect(winner.commit({ chats: [held], events: [] })).rejects.toMatchObject({ code: 'RUN_ELSEWHERE' });
});

test('tools that one hub finds and approves are so at the others', { tags: ['H6'] }, async () => {
  const [one, two] = (await hubs('one', 'two')) as [Store, Store];
  const key = { workspace: '/w', server: 'files', source: 's' };
  const tool = (description: string) => [{ name: 'read', description }];
  const [here, there] = [one, two].map(store => createPinRegistry(store, clock));
  two.onOtherHub(notice => {
    if (notice === 'changes') void there!.reload();
  });
  await there!.of(key).load();
  await here!.of(key).see(tool('a'));
  const states = () =>
    there!.of(key).pins?.map(({ definition, state }) => `${definition.description} ${state}`);
  await expect.poll(states).toEqual(['a approved']);
  await here!.of(key).see(tool('b'));
  await expect.poll(states).toEqual(['a approved', 'b pending']);
  expect(await here!.of(key).approve(() => true)).toHaveLength(1);
  await expect.poll(states).toEqual(['b approved']);
  expect(await there!.of(key).pending()).toEqual([]);
});

test('limits hold for all hubs, and cancel --all includes their runs', { tags: ['H6', 'H7'] }, async () => {
  const database = await newSchema();
  const squads = ['a', 'b'].map(() => new GitSquad({ coder: 'You code.' }, { SQUAD_DATABASE_URL: database }));
  const [one, two] = squads as [GitSquad, GitSquad];
  for (const squad of squads) onTestFinished(() => squad[Symbol.asyncDispose]());
  const start = (squad: GitSquad, ...lines: string[]) =>
    squad.json<{ runIds?: string[]; error?: { code: string } }>([
      'run',
      'coder',
      script(...lines),
      '--detach',
    ]);
  await two.hubPid();
  await one.json(['config', 'set', 'limits.spawns_per_minute', '2']);
  await one.json(['config', 'set', 'budget.day_usd', '5']);
  const hanging = (await start(one, 'usage 10 10 0 3', 'hang')).runIds![0]!;
  // The cost of a running turn at another hub counts for the daily budget.
  const shared = () => query(database, 'select 1 from running_costs where cost_usd = 3');
  await expect.poll(shared, { timeout: 30_000 }).toHaveLength(1);
  const costly = (await start(two, 'usage 10 10 0 3', 'hang')).runIds![0]!;
  const errorOf = async () =>
    (await two.shown<{ run: { error: { code: string } | null } }>(costly)).run.error;
  await expect.poll(errorOf, { timeout: 30_000 }).toMatchObject({ code: 'BUDGET_EXCEEDED' });
  await one.json(['config', 'set', 'budget.day_usd', '500']);
  await expect.poll(async () => (await two.run(['config', 'get', 'budget.day_usd'])).stdout).toContain('500');
  expect((await start(two, 'say hello')).error?.code).toBe('SPAWN_RATE_LIMIT');
  const cancelled = JSON.stringify(await two.json(['cancel', '--all', '--everywhere']));
  expect(cancelled).toContain(hanging);
  await expect.poll(() => one.statusOf(hanging)).toBe('cancelled');
});
