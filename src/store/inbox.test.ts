import { expect, test } from 'vitest';
import { newInboxId } from '../schema/ids.ts';
import type { InboxItem } from '../schema/inbox.ts';
import { openForTest } from './fixtures/open-for-test.ts';
import { aRun, aSquad, anItem as item } from './fixtures/sample-rows.ts';
import { tempDatabase } from './fixtures/temp-database.ts';
import { openStore } from './open.ts';

const squad = aSquad();
const runs = [aRun(squad), aRun(squad, { position: 1 })] as const;

test('a question comes back whole, also after reopening, and is replaced whole', async () => {
  const file = await tempDatabase();
  const writing = await openStore({ database: file, version: '1.2.3' });
  const asked = item(runs[0], {
    kind: 'approval',
    source: 'a server',
    details: 'rm -rf build',
    fields: [{ name: 'a', title: 'A', description: null, type: 'choice', choices: ['x'], isRequired: true }],
    owner: runs[1].id,
    default: 'no',
  });
  await writing.commit({ squads: [squad], runs: [...runs], inbox: [asked], events: [] });
  await writing.close();
  const store = await openForTest(file);
  expect(await store.inboxItem(asked.id)).toEqual(asked);
  const settled: InboxItem = {
    ...asked,
    ...{
      state: 'answered',
      answer: 'yes',
      answeredBy: { who: 'user', via: 'page' },
      answeredAt: 5,
      heardAt: 6,
    },
  };
  await store.commit({
    inbox: [settled],
    events: [
      { at: 5, runId: asked.runId, squadId: squad.id, body: { type: 'inbox.settled', item: settled } },
    ],
  });
  expect(await store.inboxItem(asked.id)).toEqual(settled);
  expect((await store.events({ limit: 5, types: ['inbox.settled'] }))[0]?.body).toEqual({
    type: 'inbox.settled',
    item: settled,
  });
  expect(await store.inboxItem(newInboxId())).toBeNull();
});

test('items are found by run, owner, state and the beginning of an id, newest first', async () => {
  const store = await openForTest(await tempDatabase());
  const [a, b, c] = [
    item(runs[0], { createdAt: 1 }),
    item(runs[0], { createdAt: 3, state: 'withdrawn' }),
    item(runs[1], { createdAt: 2, owner: runs[0].id }),
  ];
  await store.commit({ squads: [squad], runs: [...runs], inbox: [a, b, c], events: [] });
  expect(await store.inboxItems({ limit: 9 })).toEqual([b, c, a]);
  expect(await store.inboxItems({ limit: 1 })).toEqual([b]);
  expect(await store.inboxItems({ runId: runs[0].id, limit: 9 })).toEqual([b, a]);
  expect(await store.inboxItems({ owner: runs[0].id, limit: 9 })).toEqual([c]);
  expect(await store.inboxItems({ state: 'open', limit: 9 })).toEqual([c, a]);
  expect(await store.inboxItems({ idPrefix: a.id.slice(0, 10), limit: 9 })).toEqual([a]);
});

test('a run that is forgotten takes its questions along, and no others', async () => {
  const store = await openForTest(await tempDatabase());
  const [gone, kept] = [item(runs[0]), item(runs[1])];
  await store.commit({ squads: [squad], runs: [...runs], inbox: [gone, kept], events: [] });
  await store.forget([runs[0].id]);
  expect(await store.inboxItems({ limit: 9 })).toEqual([kept]);
});
