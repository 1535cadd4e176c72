import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createRunFiles } from '../../process/output/run-files.ts';
import type { TraceMessage } from '../../schema/conversation.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import { startChild } from '../../store/fixtures/child.ts';
import { openForTest } from '../../store/fixtures/open-for-test.ts';
import { aRun, aSquad } from '../../store/fixtures/sample-rows.ts';
import { tempFile } from '../../store/fixtures/temp-file.ts';
import type { MessageStore } from '../ports/store.ts';
import { type TraceNote, Traces } from './recorder.ts';

const HOLDER = new URL('../../store/fixtures/hold-database.ts', import.meta.url);
const ALL = { skip: 0, limit: 100_000 };
const LONG = { timeout: 60_000 };

interface Setting {
  busyRetryMs?: number;
  around?(store: MessageStore): MessageStore;
}

/** A run of the native engine whose output is a real file with one message a line, and the hub's keeper of conversations. */
async function conversing({ busyRetryMs = 50, around = store => store }: Setting = {}) {
  const file = tempFile();
  const store = await openForTest(file, busyRetryMs);
  const folder = dirname(file);
  const files = createRunFiles<RunId>({ runsDir: `${folder}/runs`, chatsDir: `${folder}/chats` });
  const squad = aSquad();
  const run = aRun(squad, { engine: 'native', status: 'running', startedAt: 1 });
  await store.commit({ squads: [squad], runs: [run], events: [] });
  const warnings: string[] = [];
  const make = () => {
    const traces = new Traces({
      store: around(store),
      run: id => store.run(id),
      readMessages: async (of, number, take) => {
        let position = 0;
        const reading = files.follow({ runId: of.id, number }, 'stdout', line =>
          take(JSON.parse(line), { position: position++, bytes: line.length }),
        );
        await reading.stop();
      },
      warn: message => warnings.push(message),
    });
    onTestFinished(() => traces.close());
    return traces;
  };
  const written: TraceMessage[] = [];
  /** Writes a message as the agent of this run. */
  const writes = (text = 'hello'): [TraceMessage, { position: number; bytes: number }] => {
    const message: TraceMessage = {
      id: `msg_${written.length}`,
      parentId: written.at(-1)?.id ?? null,
      role: 'assistant',
      content: [{ type: 'text', text }],
      at: written.length,
    };
    const path = files.outputPath({ runId: run.id, number: 1 }, 'stdout');
    mkdirSync(dirname(path), { recursive: true });
    const line = JSON.stringify(message);
    appendFileSync(path, `${line}\n`);
    written.push(message);
    return [message, { position: written.length - 1, bytes: line.length }];
  };
  const ids = async () => (await store.messages(run.id, ALL)).map(({ id }) => id);
  const end = async (status: Run['status'] = 'completed') => {
    await store.commit({ runs: [{ ...run, status, endedAt: 9 }], events: [] });
    return { ...run, status, endedAt: 9 };
  };
  return { file, store, run, files, make, writes, written, ids, end, warnings };
}

test('every message is stored under its label, and whoever listens hears of it and then that it is stored', async () => {
  const { store, run, make, writes, ids } = await conversing();
  const traces = make();
  const heard: TraceNote[] = [];
  const stop = traces.on(run.id, note => heard.push(note));
  const [first] = [writes(), writes()].map(each => {
    traces.take(run, ...each);
    return each[0];
  });
  await expect.poll(ids).toEqual(['msg_0', 'msg_1']);
  await expect
    .poll(() => heard.map(note => `${note.kind} ${'message' in note ? note.message.id : note.messageId}`))
    .toEqual(['message msg_0', 'message msg_1', 'saved msg_0', 'saved msg_1']);
  expect((await store.messages(run.id, ALL))[0]).toEqual({ ...first, runId: run.id, label: `run:${run.id}` });
  expect(traces.savedOf(run.id)).toBe(2);
  stop();
  traces.take(run, ...writes());
  await expect.poll(ids).toHaveLength(3);
  expect(heard).toHaveLength(4);
});

test('a listener that throws keeps nobody from hearing, and nothing from being stored', async () => {
  const { run, make, writes, ids, warnings } = await conversing();
  const traces = make();
  let heard = 0;
  traces.on(run.id, () => {
    throw new Error('of the listener');
  });
  traces.on(run.id, () => heard++);
  traces.take(run, ...writes());
  await expect.poll(ids).toHaveLength(1);
  await expect.poll(() => heard).toBe(2);
  expect(warnings).toHaveLength(2);
});

test(
  'a store that is locked for longer than it waits has everything in the end, and is complained of once',
  LONG,
  async () => {
    const { file, run, make, writes, written, ids, warnings } = await conversing();
    const traces = make();
    const holder = startChild(HOLDER, file);
    expect(await holder.line()).toBe('held');
    const heard: string[] = [];
    traces.on(run.id, note => heard.push(note.kind));
    for (let i = 0; i < 30; i++) traces.take(run, ...writes());
    await expect.poll(() => heard.filter(kind => kind === 'failed'), LONG).toHaveLength(30);
    expect(traces.remarks(run)[0]).toMatch(/Not all of its conversation.*locked/);
    for (let i = 0; i < 5; i++) traces.take(run, ...writes());
    await expect.poll(() => heard.filter(kind => kind === 'failed'), LONG).toHaveLength(35);
    holder.say('release');
    await expect.poll(ids, LONG).toEqual(written.map(({ id }) => id));
    expect(warnings).toHaveLength(1);
    expect(heard.filter(kind => kind === 'message')).toHaveLength(35);
    expect(heard.filter(kind => kind === 'saved')).toHaveLength(35);
    await expect.poll(() => traces.remarks(run)).toEqual([]);
  },
);

test(
  'of what a store does not take only so much is kept, and all of it is there when it does',
  LONG,
  async () => {
    const gate = Promise.withResolvers<void>();
    let [underWay, most] = [0, 0];
    const { run, make, writes, written, ids } = await conversing({
      around: store => ({
        ...store,
        saveMessages: async messages => {
          const bytes = JSON.stringify(messages).length;
          underWay += bytes;
          most = Math.max(most, underWay);
          await gate.promise;
          await store.saveMessages(messages);
          underWay -= bytes;
        },
      }),
    });
    const traces = make();
    const large = 'x'.repeat(500_000);
    for (let i = 0; i < 60; i++) traces.take(run, ...writes(large));
    await expect.poll(() => underWay).toBeGreaterThan(15_000_000);
    gate.resolve();
    await expect.poll(() => underWay).toBe(0);
    await expect.poll(ids, { ...LONG, interval: 1000 }).toEqual(written.map(({ id }) => id));
    expect(most).toBeLessThan(17 * 1024 * 1024);
    expect(JSON.stringify(written).length).toBeGreaterThan(1.7 * most);
  },
);

test('events that arrive while a trace is read again are neither lost nor reported twice', LONG, async () => {
  let refusals = 1;
  const { run, make, writes, written, ids } = await conversing({
    around: store => ({
      ...store,
      saveMessages: messages =>
        refusals-- > 0 ? Promise.reject(new Error('the disk')) : store.saveMessages(messages),
    }),
  });
  const traces = make();
  const [told, saved]: [string[], string[]] = [[], []];
  traces.on(run.id, note => {
    if (note.kind === 'message') told.push(note.message.id);
    if (note.kind === 'saved') saved.push(note.messageId);
  });
  traces.take(run, ...writes());
  await expect.poll(() => refusals).toBe(0);
  for (let i = 0; i < 50; i++) {
    traces.take(run, ...writes());
    await new Promise(setImmediate);
  }
  await expect.poll(ids, LONG).toEqual(written.map(({ id }) => id));
  expect(told).toEqual(written.map(({ id }) => id));
  await expect.poll(() => saved.toSorted()).toEqual(told.toSorted());
});

test('a conversation is closed once the run is over and everything is stored', LONG, async () => {
  let handedOver = 0;
  const { store, run, make, writes, end, ids } = await conversing({
    around: store => ({
      ...store,
      saveMessages: messages => {
        handedOver += messages.length;
        return store.saveMessages(messages);
      },
    }),
  });
  const traces = make();
  traces.take(run, ...writes());
  expect(handedOver).toBe(0);
  traces.turnOver(run);
  // Before whatever is written next, so it is there with the end.
  expect(handedOver).toBe(1);
  const ended = await end();
  expect(await ids()).toEqual(['msg_0']);
  expect(await store.unclosedConversations(9)).toEqual([run.id]);
  traces.over(ended);
  await expect.poll(() => store.unclosedConversations(9)).toEqual([]);
});

test('the next hub reads from the output what a killed hub had not stored', {
  tags: ['E8'],
  ...LONG,
}, async () => {
  const { store, run, make, writes, written, end, ids } = await conversing();
  const first = make();
  first.take(run, ...writes());
  await expect.poll(ids).toHaveLength(1);
  first.close();
  for (let i = 0; i < 20; i++) writes();
  await end('lost');
  const next = make();
  await next.recover();
  await expect.poll(ids, LONG).toEqual(written.map(({ id }) => id));
  await expect.poll(() => store.unclosedConversations(9)).toEqual([]);
});

test('output that is read twice is reported once', async () => {
  const { run, make, writes, ids } = await conversing();
  const traces = make();
  const heard: string[] = [];
  traces.on(run.id, note => heard.push(note.kind));
  const said = [writes(), writes()];
  for (const each of [...said, ...said]) traces.take(run, ...each);
  await expect.poll(ids).toHaveLength(2);
  await expect.poll(() => heard).toEqual(['message', 'message', 'saved', 'saved']);
});

test('a hub that hears a run from its beginning again stores nothing twice', async () => {
  const { run, make, writes, written, ids } = await conversing();
  const [first, next] = [make(), make()];
  const said = Array.from({ length: 5 }, () => writes());
  for (const each of said) first.take(run, ...each);
  await expect.poll(ids).toHaveLength(5);
  for (const each of said) next.take(run, ...each);
  next.take(run, ...writes());
  await expect.poll(ids).toEqual(written.map(({ id }) => id));
});

test('runs of other engines are left alone', async () => {
  const { store, run, make } = await conversing();
  const other = { ...run, engine: 'claude' };
  const traces = make();
  traces.turnOver(other);
  traces.over(other);
  await store.flush();
  expect(await store.conversations({ limit: 9 })).toEqual([]);
  expect(traces.savedOf(other.id)).toBe(0);
});
