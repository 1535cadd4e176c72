import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { descendantsOf } from '../process/table/descendants.ts';
import { startGuest } from './guest-process.ts';
import { realSandbox, run, TakenOver, tool } from './testing/sandboxes.ts';

// The proof of the sandbox has ended by then, so whatever is below this process afterwards was left behind.
await realSandbox();
const before = new Set(descendantsOf(process.pid));
afterEach(() => {
  expect(descendantsOf(process.pid).filter(pid => !before.has(pid))).toEqual([]);
});

const SHORT = { timeoutMs: 1500 };

test.each([
  ['an endless loop', 'for (;;);'],
  ['an endless loop of promises', 'for (;;) await null'],
  ['a flood of microtasks', 'const go = () => queueMicrotask(go); go(); await new Promise(() => {})'],
  ['an endless loop of timers', 'for (;;) await new Promise(wake => setTimeout(wake, 1))'],
  ['a wait that blocks', 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'],
  ['a search that never ends', '/(a+)+$/.test("a".repeat(100) + "b")'],
  ['a call that never ends', 'await tools.hang()'],
  ['a catch of everything', 'for (;;) try { for (;;) await null } catch {}'],
])('%s is ended at the timeout', async (_, program) => {
  let wasCancelled = false;
  const hang = tool('hang', async (_, signal) => {
    await once(signal, 'abort');
    wasCancelled = true;
  });
  const result = await run(program, { limits: SHORT, tools: [hang] });
  expect(result.ok).toBe(false);
  expect(result.error).toMatch(/did not finish within 1\.5 s/);
  expect(wasCancelled).toBe(program.includes('hang'));
});

test.each([
  ['objects', 'const all = []; for (;;) all.push({ a: [1, 2, 3] })'],
  ['small arrays', 'const all = []; for (;;) all.push(new Array(10).fill(1.5))'],
  [
    'strings',
    'let text = "x"; const all = []; for (let n = 0; ; n++) all.push(String(n).padEnd(1000, text))',
  ],
  ['typed arrays', 'const all = []; for (;;) all.push(new Uint8Array(1e6).fill(1))'],
  [
    'one buffer that grows',
    'const one = new ArrayBuffer(1, { maxByteLength: 2 ** 32 }); for (let n = 1; ; n++) { one.resize(n * 1e6); new Uint8Array(one).fill(1) }',
  ],
  ['shared memory', 'const all = []; for (;;) all.push(new Uint8Array(new SharedArrayBuffer(1e6)).fill(1))'],
  ['promises', 'const all = []; for (;;) all.push(Promise.resolve().then(() => {}))'],
  ['what is returned', 'return "x".repeat(2 ** 29 - 100)'],
])('a program that uses too much memory for %s is ended', { tags: ['E5'] }, async (_, program) => {
  const result = await run(program, { limits: { memoryMb: 128 } });
  expect(result.ok).toBe(false);
  expect(result.error).toMatch(/more than 128 MB/);
});

test('the kernel limits memory between checks', { tags: ['E5'] }, async () => {
  const guests = new TakenOver();
  const sandbox = await guests.sandbox(`const all = [];
try { while (all.length < 64) all.push(Buffer.alloc(64 * 2 ** 20, 1)) } catch { send({ type: 'print', text: String(all.length * 64) }) }
setInterval(() => {}, 1000)`);
  const guest = startGuest(sandbox.command(256));
  const taken = await new Promise<string>(resolve => {
    guest.listen({
      message: message => resolve(message.type === 'print' ? message.text : message.type),
      invalid: () => resolve('nonsense'),
      exited: (_, stderr) => resolve(stderr),
    });
  });
  await guest.end();
  guests.remove();
  expect(Number(taken)).toBeGreaterThanOrEqual(192);
  expect(Number(taken)).toBeLessThanOrEqual(384);
});

test('an allocation above the limit fails', async () => {
  const result = await run('try { new ArrayBuffer(2 ** 52) } catch (error) { return error.name }');
  expect(result.returned).toBe('"RangeError"');
});

test.each([
  ['in many lines', 'const line = "x".repeat(1023); for (let n = 0; n < 2 ** 20; n++) console.log(line)'],
  [
    'in one after the other',
    'const text = "x".repeat(2 ** 24); for (let n = 0; n < 64; n++) console.log(text)',
  ],
])('a program that prints 1 GiB %s is cut and ended, and the host does not grow', async (_, program) => {
  const before = process.memoryUsage.rss();
  const result = await run(program);
  expect(result).toMatchObject({ ok: false, error: expect.stringContaining('it printed more than') });
  expect(result.output).toMatch(/^x{1000}[\s\S]*more characters left out\]$/);
  expect(result.output.length).toBeLessThan(10_100);
  expect((process.memoryUsage.rss() - before) / 1024 / 1024).toBeLessThan(128);
});

test('endless large tool calls do not make the host grow', async () => {
  const before = process.memoryUsage.rss();
  const hang = tool('hang', () => new Promise(() => {}));
  const program = 'const a = "x".repeat(1e6); for (;;) tools.hang({ a })';
  const result = await run(program, { tools: [hang], limits: SHORT });
  expect(result.ok).toBe(false);
  expect((process.memoryUsage.rss() - before) / 1024 / 1024).toBeLessThan(300);
});

test('a program that is too long is refused', async () => {
  const result = await run('x'.repeat(2 ** 20 + 1));
  expect(result.error).toMatch(/longer than/);
});

test('after all of this the next program runs', async () => {
  expect(await run('return 1')).toMatchObject({ ok: true, returned: '1' });
});
