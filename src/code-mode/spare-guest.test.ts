import { afterAll, afterEach, expect, test } from 'vitest';
import { descendantsOf } from '../process/table/descendants.ts';
import type { CodeModeLimits } from '../schema/model-spec.ts';
import type { CodeTool } from './code-mode.ts';
import { createCodeRunner } from './code-runner.ts';
import type { Sandbox } from './sandbox.ts';
import { GONE, LIMITS, realSandbox, run, TakenOver, tool } from './testing/sandboxes.ts';

const guests = new TakenOver();
afterAll(() => guests.remove());

// Proves the sandbox, whose processes have ended then.
await realSandbox();
const others = new Set(descendantsOf(process.pid));
const below = () => descendantsOf(process.pid).filter(pid => !others.has(pid));
afterEach(() => expect(below()).toEqual([]));

interface Settings {
  tools?: CodeTool[];
  limits?: Partial<CodeModeLimits>;
  sandbox?: Sandbox;
}

const createRunner = async ({ tools = [], limits, sandbox }: Settings = {}) =>
  createCodeRunner({
    tools,
    limits: { ...LIMITS, ...limits },
    sandbox: sandbox ?? (await realSandbox()),
  });
const { signal } = new AbortController();

/** Tells which processes there are while a program runs. */
const look = tool('look', async () => below());

test('no guest is started before prepare, and then only one', async () => {
  await using runner = await createRunner();
  expect(below()).toEqual([]);
  await Promise.all([runner.prepare(), runner.prepare()]);
  const started = below();
  expect(started.length).toBeGreaterThanOrEqual(2);
  await runner.prepare();
  expect(below()).toEqual(started);
});

test.each([
  ['with types', 'const seen: unknown = await tools.look(); return seen'],
  ['without', 'return await tools.look()'],
])('a program %s runs in what was started ahead, and nobody else does', async (_, program) => {
  await using runner = await createRunner({ tools: [look] });
  await runner.prepare();
  const first = below();
  expect(JSON.parse((await runner.run(program, signal)).returned!)).toEqual(first);
  expect(below()).toEqual([]);
  await runner.prepare();
  const second = below();
  expect(second.filter(pid => first.includes(pid))).toEqual([]);
  expect(JSON.parse((await runner.run(program, signal)).returned!)).toEqual(second);
});

test('a program waits for a spare guest that is starting', async () => {
  await using runner = await createRunner();
  const preparing = runner.prepare();
  expect(await runner.run('const a: number = 1; return a', signal)).toMatchObject({
    ok: true,
    returned: '1',
  });
  await preparing;
});

test('of several programs one takes the spare guest, the others start their own, and none sees another', async () => {
  await using runner = await createRunner();
  await runner.prepare();
  const program = 'const had = globalThis.mark; globalThis.mark = 1; return [had]';
  const results = await Promise.all([1, 2, 3].map(() => runner.run(program, signal)));
  for (const result of results) expect(result).toMatchObject({ ok: true, returned: '[null]' });
});

test.each([
  ['and that was seen', async () => void (await expect.poll(below).toEqual([]))],
  ['and nobody has seen it yet', async () => {}],
])('a guest that died meanwhile %s is replaced, and the program runs once', async (_, seen) => {
  const called: unknown[] = [];
  const given = tool('given', async args => called.push(args));
  await using runner = await createRunner({ tools: [given] });
  await runner.prepare();
  process.kill(below().at(-1)!, 'SIGKILL');
  await seen();
  const result = await runner.run('return await tools.given({ a: 1 })', signal);
  expect(result).toMatchObject({ ok: true, returned: '1', error: null });
  expect(called).toEqual([{ a: 1 }]);
});

test('a program that kills its process is not run again', async () => {
  let called = 0;
  const given = tool('given', async () => ++called);
  await using runner = await createRunner({ tools: [given], limits: { memoryMb: 64 } });
  await runner.prepare();
  const program = 'await tools.given(); const all = []; for (;;) all.push({ a: [1, 2, 3] })';
  expect(await runner.run(program, signal)).toMatchObject({
    ok: false,
    error: expect.stringContaining('64 MB'),
  });
  expect(called).toBe(1);
});

const OUT_OF_TIME = expect.stringContaining('did not finish within');

test('the timeout starts with the program, not with the guest', async () => {
  const limits = { timeoutMs: 1500 };
  await using runner = await createRunner({ tools: [look], limits });
  await runner.prepare();
  const started = below();
  // When this one has been ended by time, the other has been up for longer.
  expect(await run('for (;;);', { limits })).toMatchObject({ error: OUT_OF_TIME });
  expect(JSON.parse((await runner.run('return await tools.look()', signal)).returned!)).toEqual(started);
  await runner.prepare();
  expect(await runner.run('for (;;);', signal)).toMatchObject({ error: OUT_OF_TIME });
});

test.each([
  ['takes too much memory', 'globalThis.all = Array.from({ length: 100 }, () => Buffer.alloc(1e6, 1))'],
  ['calls without a program', 'send({ type: "call", id: 1, tool: "given", args: {} })'],
  ['says what nobody says', 'send("{")'],
  ['ends by itself', 'process.exit(0)'],
])('a guest that %s is ended and does nothing', async (_, body) => {
  const called: unknown[] = [];
  const given = tool('given', async args => called.push(args));
  const sandbox = await guests.sandbox(`${body}; setInterval(() => {}, 1000)`);
  await using runner = await createRunner({ tools: [given], sandbox, limits: { memoryMb: 64 } });
  await runner.prepare();
  await expect.poll(below).toEqual([]);
  expect(called).toEqual([]);
});

test("a guest that cannot start is reported by the program's result", async () => {
  await using runner = await createRunner({ sandbox: GONE });
  await runner.prepare();
  expect((await runner.run('', signal)).error).toMatch(/ENOENT/);
});

test('close ends waiting and running guests and prevents new ones', async () => {
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const hang = tool('hang', () => {
    resolve();
    return new Promise(() => {});
  });
  const runner = await createRunner({ tools: [hang] });
  const running = expect(runner.run('await tools.hang()', signal)).rejects.toThrow('closed');
  await begun;
  await runner.prepare();
  await runner.close();
  expect(below()).toEqual([]);
  await running;
  await runner.prepare();
  expect(below()).toEqual([]);
  await expect(runner.run('', signal)).rejects.toThrow('closed');
  await runner.close();
});
