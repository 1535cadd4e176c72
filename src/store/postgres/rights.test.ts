import { randomBytes } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import {
  aChat,
  activity,
  anIntent,
  anItem,
  aReview,
  aRun,
  aSquad,
  aTurn,
  started,
} from '../fixtures/sample-rows.ts';
import { newSchema, query } from '../fixtures/temp-database.ts';
import { openBackend, openStore } from '../open.ts';
import { grant, inspectDatabase } from './administer.ts';

const home = { id: 'one', home: '/home/one' };

async function open(database: string) {
  const store = await openStore({ database, version: '1.2.3', home, busyRetryMs: 300 });
  onTestFinished(() => store.close());
  return store;
}

/** An empty database of an owner that is no superuser, and a user without any rights on it. */
async function twoUsers(): Promise<{ owner: string; user: string; runs: string }> {
  const schema = new URL(await newSchema());
  const name = schema.searchParams.get('options')!.split('=')[1]!;
  const [owner, user] = ['owner', 'hub'].map(what => `${what}_${randomBytes(4).toString('hex')}`) as [
    string,
    string,
  ];
  await query(
    inject('postgres')!,
    `create role ${owner} login password 'x'; create role ${user} login password 'x';
     alter schema ${name} owner to ${owner}`,
  );
  onTestFinished(async () => {
    await query(
      inject('postgres')!,
      `drop owned by ${user} cascade; drop owned by ${owner} cascade;
      drop role ${user}; drop role ${owner}`,
    );
  });
  const as = (role: string) => {
    const url = new URL(schema);
    [url.username, url.password] = [role, 'x'];
    return url.href;
  };
  return { owner: as(owner), user, runs: as(user) };
}

/** A database with tables, whose user may run hubs. */
async function granted() {
  const users = await twoUsers();
  await (await open(users.owner)).close();
  await grant(users.owner, users.user, true);
  return users;
}

test('a user without the right to create tables runs a hub', { tags: ['H7'] }, async () => {
  const { runs: database } = await granted();
  expect((await inspectDatabase(database, '1.2.3')).missing).toEqual([]);
  const store = await open(database);
  const squad = aSquad();
  const run = aRun(squad, { status: 'running', engine: 'native' });
  const other = aRun(aSquad());
  await store.commit({
    ...{ squads: [squad], runs: [run], turns: [aTurn(run)], chats: [aChat(run)] },
    ...{ reviews: [aReview(run, run)], inbox: [anItem(run)], intents: [anIntent('one')] },
    reviewLimits: [{ lineageId: run.lineageId, limit: 7 }],
    lines: [{ runId: run.id, turn: 1, offset: 0, line: 'x', at: 1 }],
    events: [started(run), started(other)],
  });
  await store.saveMessages([
    {
      ...{
        id: 'msg_1',
        runId: run.id,
        turn: 1,
        position: 0,
        parentId: null,
        label: 'l',
        role: 'user',
        at: 3,
      },
      content: [{ type: 'text', text: 'hello' }],
    },
  ]);
  await store.closeConversation({ runId: run.id, label: 'l', startedAt: 1 });
  const key = { workspace: '/project', server: 'files', source: 'a1' };
  const pin = {
    name: 'read',
    hash: 'h',
    definition: { name: 'read' },
    state: 'approved',
    seenAt: 1,
  } as const;
  for (const hash of ['h', 'i']) await store.savePins(key, [{ ...pin, hash }]);
  for (const value of ['3', '4', null]) await store.setSetting('limits.depth', value);
  await store.requestStop(run.id, 'a terminal');
  await store.commit({
    runs: [{ ...run, status: 'completed', endedAt: 5 }],
    intentsDone: ['one'],
    reviewLimits: [{ lineageId: run.lineageId, limit: null }],
    events: [activity(run, 'end')],
  });
  await store.forget([run.id]);
  expect(await store.run(run.id)).toBeNull();
  expect(await store.events({ limit: 9 })).toHaveLength(1);
  // As a hub does that restores runs.
  const backend = await openBackend({ database, version: '1.2.3', home: { id: 'two', home: '/two' } }, 300);
  await backend.write(trx => backend.skipTo(trx, 77));
  expect(await backend.lastSequence()).toBe(77);
  await backend.close();
});

test.each([
  ['create table mine (id int)'],
  ['drop table runs'],
  ['truncate runs'],
  ['alter table runs add column mine int'],
  ['alter table runs disable trigger all'],
  ['drop trigger runs_of_hub on runs'],
  [`create function mine() returns int language sql as 'select 1'`],
  ['create schema mine'],
  ['create role mine'],
  [`update events set data = ''`],
  ['delete from hubs'],
  [`insert into migrations values ('999-mine', 1, '9.9.9')`],
  ['delete from migrations'],
  ['select * from pg_authid'],
  [`copy runs to program 'true'`],
  [`select pg_read_file('postgresql.conf')`],
])('such a user may not: %s', { tags: ['H7'] }, async statement => {
  const { runs } = await granted();
  await expect(query(runs, statement)).rejects.toMatchObject({ code: '42501' });
});

test('without the rights a hub is refused, and says how to get them', async () => {
  const { owner, runs, user } = await twoUsers();
  await query(
    owner,
    `grant usage on schema ${new URL(owner).searchParams.get('options')!.split('=')[1]} to ${user}`,
  );
  const none = await open(runs).catch(error => error);
  expect(none).toMatchObject({
    code: 'PERMISSION_DENIED',
    message: expect.stringContaining('has no tables of Squad yet'),
    suggestions: [expect.stringContaining('squad db migrate')],
  });
  await expect(grant(owner, user, true)).rejects.toMatchObject({ code: 'DATABASE_FAILED' });
  await (await open(owner)).close();
  await grant(owner, user, true);
  await query(owner, `revoke delete on events from ${user}`);
  for (const use of [open, (url: string) => inspectDatabase(url, '1.2.3')])
    await expect(use(runs)).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining('it lacks delete on events.'),
      suggestions: [expect.stringContaining('squad db grant')],
    });
  await expect(grant(owner, 'nobody_here', true)).rejects.toMatchObject({
    suggestions: [expect.stringContaining('create role')],
  });
});

test('a later version changes the tables as their owner only, and its users have rights on new tables', {
  tags: ['H7'],
}, async () => {
  const { owner, runs } = await granted();
  await query(owner, `drop table sent_lines; delete from migrations where name = '009-sent-lines'`);
  await expect(open(runs)).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
    message: expect.stringContaining('needs changes of its tables (009-sent-lines)'),
    suggestions: [expect.stringContaining('squad db migrate')],
  });
  await (await open(owner)).close();
  await (await open(runs)).close();
});
