import { appendFileSync, readFileSync, truncateSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { streamJsonDriver } from '../../engines/stream-json-driver.ts';
import { createRunFiles } from '../../process/output/run-files.ts';
import { openForTest } from '../../store/fixtures/open-for-test.ts';
import { aRun, aSquad } from '../../store/fixtures/sample-rows.ts';
import { tempDatabase } from '../../store/fixtures/temp-database.ts';
import { tempFile } from '../../store/fixtures/temp-file.ts';
import type { EngineAsk } from '../ports/engine.ts';
import type { LiveTurn } from '../ports/turns.ts';
import { PLAIN_OPTIONS } from '../testing/plain-options.ts';
import { type TwoWayPorts, TwoWayTurn } from './two-way.ts';

const squad = aSquad();
const START = { prompt: 'Work.', options: { ...PLAIN_OPTIONS, approvals: 'ask' } } as const;
const NO = { isGiven: false, why: 'ü😀 no' } as const;
const use = (id: string) =>
  JSON.stringify({
    type: 'control_request',
    request_id: id,
    request: { subtype: 'can_use_tool', tool_name: 'Bash', input: { command: 'date' } },
  });

/** A turn with real files and a real store. `dies`: the name of the step after which the hub is gone. */
async function setUp({ dies = null as string | null } = {}) {
  const folder = tempFile('files');
  const files = createRunFiles({ runsDir: `${folder}/runs`, chatsDir: `${folder}/chats` });
  const store = await openForTest(await tempDatabase());
  const run = aRun(squad, { status: 'running' });
  await store.commit({ squads: [squad], runs: [run], events: [] });
  const turn = { runId: run.id, number: 1 };
  const path = files.path(turn, 'input');
  const asked: EngineAsk[] = [];
  const ports: TwoWayPorts = {
    ...{ store, files, clock: { now: () => 7 } },
    checkpoint(name) {
      if (name === dies) throw new Error('the hub is gone');
    },
    retry: (_, act) => act(),
    onAsk: (_, ask) => asked.push(ask),
    warn: () => {},
  };
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const process = { endInput: async () => resolve() } as unknown as LiveTurn;
  const first = await TwoWayTurn.begin(streamJsonDriver(START), run, turn, ports);
  onTestFinished(() => first.end());
  const resume = async () => {
    const next = (await TwoWayTurn.resume(streamJsonDriver(START), run, turn, {
      ...ports,
      checkpoint: () => {},
    }))!;
    onTestFinished(() => next.end());
    return next;
  };
  const lines = () => readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return { files, store, run, turn, path, asked, ports, process, ended, first, resume, lines };
}

test('each answer is written once, in order, after the prompt', async () => {
  const { first, asked, process, lines } = await setUp();
  for (const id of ['a', 'b', 'a']) first.read(use(id), false, process);
  expect(asked.map(({ id }) => id)).toEqual(['a', 'b']);
  const sent = await Promise.all(asked.map(ask => first.answer(ask, NO)));
  expect(sent).toEqual([true, true]);
  expect(await first.answer(asked[0]!, { isGiven: true })).toBe(false);
  expect(lines().map(line => JSON.parse(line).response?.request_id)).toEqual([undefined, 'a', 'b']);
});

test.each([
  [
    'before anything of it was written',
    (line: string, path: string) => cutBy(path, Buffer.byteLength(line) + 1),
  ],
  [
    'in the middle of a character',
    (line: string, path: string) => cutBy(path, Buffer.byteLength(line.slice(line.indexOf('😀'))) - 1),
  ],
  ['before the end of the line', (_: string, path: string) => cutBy(path, 1)],
  ['after all of it', () => {}],
])(
  'a line that was stored by a hub that died %s is completed, not repeated',
  { tags: ['G1'] },
  async (_, tear) => {
    const { first, asked, process, path, lines, resume } = await setUp();
    for (const id of ['a', 'b']) first.read(use(id), false, process);
    for (const ask of asked) await first.answer(ask, NO);
    const whole = lines();
    tear(whole.at(-1)!, path);
    const next = await resume();
    expect(lines()).toEqual(whole);
    for (const id of ['a', 'b', 'c']) next.read(use(id), false, process);
    expect(asked.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(await next.answer(asked[2]!, NO)).toBe(true);
    expect(lines()).toHaveLength(whole.length + 1);
  },
);

const cutBy = (path: string, bytes: number) => truncateSync(path, readFileSync(path).length - bytes);

test('an answer that was stored and not written is there for the next hub', async () => {
  const { first, asked, process, lines, resume } = await setUp({ dies: 'line:stored' });
  first.read(use('a'), false, process);
  await expect(first.answer(asked[0]!, NO)).rejects.toThrow('gone');
  expect(lines()).toHaveLength(1);
  const next = await resume();
  expect(lines()).toHaveLength(2);
  next.read(use('a'), false, process);
  expect(asked).toHaveLength(1);
});

test('without its rows the lines in the file count, and nothing is added to half a line', async () => {
  const { first, asked, process, path, lines, resume } = await setUp();
  first.read(use('a'), false, process);
  appendFileSync(
    path,
    `${JSON.stringify({ type: 'control_response', response: { request_id: 'a' } })}\n{"ty`,
  );
  const before = lines();
  const next = await resume();
  for (const id of ['a', 'b']) next.read(use(id), false, process);
  expect(asked.map(({ id }) => id)).toEqual(['a', 'b']);
  expect(await next.answer(asked[1]!, NO)).toBe(false);
  expect(lines()).toEqual(before);
});

test('the input ends when the agent has done all, and not while a question is open', async () => {
  const { first, asked, process, ended, lines } = await setUp();
  const replay = JSON.stringify({ type: 'user', uuid: JSON.parse(lines()[0]!).uuid });
  for (const line of [replay, use('a'), '{"type":"result"}']) first.read(line, false, process);
  expect(await first.answer(asked[0]!, NO)).toBe(true);
  first.read('{"type":"result"}', false, process);
  await ended;
  first.read(use('b'), false, process);
  expect(await first.answer(asked[1]!, NO)).toBe(false);
});

test('an agent that has finished but does not exit is stopped', async () => {
  const { run, turn, ports } = await setUp();
  const driver = Object.assign(streamJsonDriver(START), { staysOpen: true });
  const stuck = await TwoWayTurn.begin(driver, run, { ...turn, number: 2 }, ports);
  onTestFinished(() => stuck.end());
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const process = { endInput: async () => {}, stop: () => resolve() } as unknown as LiveTurn;
  for (const id of driver.waiting) stuck.read(JSON.stringify({ type: 'user', uuid: id }), false, process);
  stuck.read('{"type":"result"}', false, process);
  await stopped;
});

test('a question is gone when the agent withdraws it, or with its turn', async () => {
  const { first, asked, process } = await setUp();
  for (const id of ['a', 'b']) first.read(use(id), false, process);
  const [a, b] = ['a', 'b'].map(id => first.untilGone(id));
  first.read('{"type":"control_cancel_request","request_id":"a"}', false, process);
  expect([a!.aborted, b!.aborted]).toEqual([true, false]);
  expect(await first.answer(asked[0]!, { isGiven: true })).toBe(false);
  first.end();
  expect(b!.aborted).toBe(true);
  expect(await first.answer(asked[1]!, { isGiven: true })).toBe(false);
});

test('a turn that only reads its prompt is not two-way; pruning a run removes its lines', async () => {
  const { first, asked, process, run, turn, ports, store } = await setUp();
  const other = { ...turn, number: 2 };
  expect(await TwoWayTurn.resume(streamJsonDriver(START), run, other, ports)).toBeNull();
  first.read(use('a'), false, process);
  await first.answer(asked[0]!, NO);
  expect(await store.lastSentLine(turn)).toMatchObject({ line: expect.stringContaining('"deny"') });
  expect(await store.lastSentLine(other)).toBeNull();
  await store.forget([run.id]);
  expect(await store.lastSentLine(turn)).toBeNull();
});
