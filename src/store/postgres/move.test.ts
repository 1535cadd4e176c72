import { expect, test } from 'vitest';
import { newInboxId } from '../../schema/ids.ts';
import type { InboxItem } from '../../schema/inbox.ts';
import { openForTest } from '../fixtures/open-for-test.ts';
import {
  aChat,
  activity,
  anIntent,
  aReview,
  aRun,
  aSquad,
  aTurn,
  aWorktree,
  started,
} from '../fixtures/sample-rows.ts';
import { newSchema } from '../fixtures/temp-database.ts';
import { tempFile } from '../fixtures/temp-file.ts';
import { moveRows } from '../move.ts';
import { openBackend } from '../open.ts';

const KEY = { workspace: '/project', server: 'files', source: 'a1' };

/** Fills a SQLite database with every kind of row, in more than one page. */
async function filledFile(): Promise<string> {
  const file = tempFile();
  const store = await openForTest(file);
  const squad = aSquad();
  const coder = aRun(squad, { worktree: aWorktree(), status: 'waiting_review' });
  const reviewer = aRun(squad, { position: 1, reviewOf: coder.id, engine: 'native', status: 'running' });
  const others = Array.from({ length: 1_200 }, (_, at) =>
    aRun(squad, {
      status: 'completed',
      createdAt: 1_700_000_000_000 + at * 60_000,
      startedAt: 5.5,
      endedAt: at + 10,
    }),
  );
  const item: InboxItem = {
    ...{ id: newInboxId(), runId: coder.id, squadId: squad.id, kind: 'question', source: null },
    ...{ question: 'Which \u0000?', details: null, choices: ['ü'], fields: [], owner: 'user', default: null },
    ...{
      createdAt: 1,
      deadlineAt: 2,
      state: 'open',
      answer: null,
      answeredBy: null,
      answeredAt: null,
      heardAt: null,
    },
  };
  const gone = aRun(aSquad());
  await store.commit({ events: [started(gone)] });
  await store.forget([gone.id]);
  await store.commit({
    squads: [squad],
    runs: [coder, reviewer, ...others],
    turns: [aTurn(coder), aTurn(coder, { number: 2 })],
    chats: [aChat(coder)],
    reviews: [aReview(coder, reviewer)],
    intents: [anIntent('a')],
    reviewLimits: [{ lineageId: coder.lineageId, limit: 7 }],
    inbox: [item],
    events: [started(coder), activity(coder, 'tab\t and NUL \u0000'), started(reviewer)],
  });
  await store.saveMessages([
    {
      ...{
        id: 'msg_1',
        runId: reviewer.id,
        turn: 1,
        position: 0,
        parentId: null,
        label: 'l',
        role: 'user',
        at: 3,
      },
      content: [{ type: 'text', text: 'a \u0000 b' }],
    },
  ]);
  await store.setSetting('limits.depth', '3');
  await store.savePins(KEY, [
    { name: 'read', hash: 'h', definition: { name: 'read' }, state: 'approved', seenAt: 1 },
  ]);
  await store.close();
  return file;
}

/** Everything that can be read, by the store. */
async function contents(database: string) {
  const store = await openForTest(database);
  const runs = await store.runs({ limit: 5_000 });
  const live = await store.liveRuns();
  const all = {
    runs,
    live,
    squad: await store.squad(runs[0]!.squadId),
    turns: await Promise.all(live.map(({ id }) => store.turns(id))),
    chat: await store.chat(aChat(live[0]!).id),
    reviews: await store.reviews({ limit: 99 }),
    limit: await store.reviewLimit(live[0]!.lineageId),
    intents: await store.intents(),
    inbox: await store.inboxItems({ limit: 99 }),
    events: await store.events({ limit: 99 }),
    messages: await Promise.all(live.map(({ id }) => store.messages(id, { skip: 0, limit: 9 }))),
    conversations: await store.conversations({ limit: 9 }),
    settings: await store.settings(),
    pins: await store.pins(KEY),
    counts: await store.countEnded({}, 1),
    spent: await store.spent({}),
  };
  await store.close();
  return all;
}

test('everything in a SQLite database is in the PostgreSQL database it is moved to', {
  tags: ['H5'],
}, async () => {
  const [file, database] = [await filledFile(), await newSchema()];
  const before = await contents(file);
  const [from, to] = [
    await openBackend({ database: file, version: '1.2.3' }, 1_000),
    await openBackend({ database, version: '1.2.3' }, 1_000),
  ];
  expect(await moveRows(from, to, 'there')).toMatchObject({ runs: 1_202, events: 3, inbox: 1, tool_pins: 1 });
  // A second time there is something in the way.
  await expect(moveRows(from, to, 'there')).rejects.toThrow('there is not empty: it has rows in squads');
  await Promise.all([from.close(), to.close()]);
  expect(before.runs).toHaveLength(1_202);
  expect(await contents(database)).toEqual(before);
  expect(await contents(file)).toEqual(before);
  // The next event has the next number.
  const store = await openForTest(database);
  await store.commit({ events: [activity(before.live[0]!, 'next')] });
  expect((await store.events({ limit: 9, reverse: true }))[0]!.seq).toBe(before.events.at(-1)!.seq + 1);
});
