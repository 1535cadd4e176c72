import { expect, test } from 'vitest';
import type { ConversationFilter, PlacedMessage } from '../core/ports/store.ts';
import { traceLabel } from '../schema/conversation.ts';
import type { Run } from '../schema/run.ts';
import { openForTest } from './fixtures/open-for-test.ts';
import { aRun, aSquad } from './fixtures/sample-rows.ts';
import { tempDatabase } from './fixtures/temp-database.ts';

const ALL = { skip: 0, limit: 1_000 };

function said(run: Run, position: number, some: Partial<PlacedMessage> = {}): PlacedMessage {
  return {
    id: `msg_${run.id}_${some.turn ?? 1}_${position}`,
    runId: run.id,
    label: traceLabel(run.id, run.options.subagent),
    parentId: position === 0 ? null : `msg_${run.id}_1_${position - 1}`,
    role: 'assistant',
    content: [
      { type: 'text', text: 'quote " and \u0000 and 😀' },
      { type: 'tool_call', id: 'c1', name: 'files__read', input: { path: '/a', deep: [null, 1] } },
    ],
    at: 1_700_000_000_000 + position,
    turn: 1,
    position,
    ...some,
  };
}

const bare = ({ turn, position, ...message }: PlacedMessage) => message;

async function storeWithRuns(count: number, subagents: (string | null)[] = []) {
  const store = await openForTest(await tempDatabase());
  const squad = aSquad();
  const runs = Array.from({ length: count }, (_, i) => {
    const run = aRun(squad, { engine: 'native', position: i, status: 'completed', startedAt: 5, endedAt: 9 });
    return { ...run, options: { ...run.options, subagent: subagents[i] ?? null } };
  });
  await store.commit({ squads: [squad], runs, events: [] });
  return { store, runs };
}

test('messages come back whole, in the order they were said, whatever the order they were written in', async () => {
  const { store, runs } = await storeWithRuns(2);
  const [run, other] = runs as [Run, Run];
  const next = said(run, 0, { turn: 2, at: 1 });
  const all = [said(run, 0), said(run, 1), said(run, 2)];
  await store.saveMessages([all[2]!, next]);
  await store.saveMessages([said(other, 0), all[1]!, all[0]!]);
  expect(await store.messages(run.id, ALL)).toEqual([...all, next].map(bare));
  expect(await store.messages(run.id, { skip: 1, limit: 2 })).toEqual([all[1]!, all[2]!].map(bare));
  expect(await store.message(run.id, all[1]!.id)).toEqual(bare(all[1]!));
  expect(await store.message(other.id, all[1]!.id)).toBeNull();
  expect(await store.countMessages(run.id)).toBe(4);
});

test('a message that is saved again does not change', async () => {
  const { store, runs } = await storeWithRuns(1);
  const run = runs[0]!;
  await store.saveMessages([said(run, 0)]);
  await store.saveMessages([said(run, 0, { content: [] }), said(run, 0, { id: 'msg_else' }), said(run, 1)]);
  expect(await store.messages(run.id, ALL)).toEqual([said(run, 0), said(run, 1)].map(bare));
});

test('conversations are listed newest first, of all or of one subagent, without those in which nothing was said', async () => {
  const { store, runs } = await storeWithRuns(4, ['reviewer', null, 'reviewer', 'silent']);
  const [first, plain, last, silent] = runs as [Run, Run, Run, Run];
  await store.saveMessages([said(first, 0, { at: 10 }), said(first, 1, { at: 30 })]);
  await store.saveMessages([said(plain, 0, { at: 20 })]);
  await store.saveMessages([said(last, 0, { at: 40 })]);
  await store.closeConversation({ runId: silent.id, label: traceLabel(silent.id, 'silent'), startedAt: 50 });
  const ids = async (filter: ConversationFilter) =>
    (await store.conversations(filter)).map(({ runId }) => runId);
  expect(await ids({ limit: 9 })).toEqual([last.id, plain.id, first.id]);
  expect(await ids({ limit: 9, subagent: 'reviewer' })).toEqual([last.id, first.id]);
  expect(await ids({ limit: 1, before: 40 })).toEqual([plain.id]);
  expect(await ids({ limit: 9, workspace: plain.workspace })).toEqual([last.id, plain.id, first.id]);
  expect(await ids({ limit: 9, workspace: '/elsewhere' })).toEqual([]);
  expect((await store.conversations({ limit: 9 })).at(-1)).toEqual({
    runId: first.id,
    label: `subagent:reviewer:${first.id}`,
    subagent: 'reviewer',
    startedAt: 10,
    messages: 2,
    lastAt: 30,
  });
  expect(await store.talkers()).toEqual(['reviewer', 'silent']);
});

test('an ended run of the native engine is to be looked at until its conversation is closed', async () => {
  const { store, runs } = await storeWithRuns(2);
  const [run, other] = runs as [Run, Run];
  const squad = aSquad();
  await store.commit({
    squads: [squad],
    runs: [aRun(squad, { status: 'completed', endedAt: 9 }), aRun(squad, { engine: 'native' })],
    events: [],
  });
  expect((await store.unclosedConversations(9)).sort()).toEqual([run.id, other.id].sort());
  await store.saveMessages([said(run, 0)]);
  await store.closeConversation({ runId: run.id, label: traceLabel(run.id, null), startedAt: 1 });
  // Messages that are saved later do not reopen the conversation.
  await store.saveMessages([said(run, 1)]);
  expect(await store.unclosedConversations(9)).toEqual([other.id]);
});

test('the messages of a forgotten run go with it, and only those', async () => {
  const { store, runs } = await storeWithRuns(2);
  const [run, other] = runs as [Run, Run];
  await store.saveMessages([said(run, 0), said(other, 0)]);
  await store.forget([run.id]);
  expect(await store.messages(run.id, ALL)).toEqual([]);
  expect((await store.conversations({ limit: 9 })).map(({ runId }) => runId)).toEqual([other.id]);
  expect(await store.countMessages(other.id)).toBe(1);
});
