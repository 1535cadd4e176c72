import { afterAll, expect, test } from 'vitest';
import { GONE, run, TakenOver, tool } from './testing/sandboxes.ts';

const guests = new TakenOver();
afterAll(() => guests.remove());

const HEADER = (bytes: number) =>
  `(() => { const header = Buffer.alloc(4); header.writeUInt32LE(${bytes}); return header })()`;
const CALL = (id: unknown, name: string) => JSON.stringify({ type: 'call', id, tool: name, args: {} });

test.each([
  ['no JSON', 'send("{")'],
  ['no message', 'send([1])'],
  ['a message of no type', 'send({ type: "other" })'],
  ['a print without text', 'send({ type: "print", text: 1 })'],
  ['an id that is no number', `send(${CALL('1', 'slow')})`],
  ['an id that is no whole number', `send(${CALL(1.5, 'slow')})`],
  ['arguments that are a list', 'send({ type: "call", id: 1, tool: "slow", args: [] })'],
  ['the id of a call in flight', `send(${CALL(1, 'slow')}); send(${CALL(1, 'slow')})`],
  ['a frame of 4 GiB', `sendBytes(${HEADER(0xffffffff)}); sendBytes(Buffer.alloc(1e6))`],
  ['an end with a value that is no text', 'send({ type: "done", returned: 1, rejections: [] })'],
  ['an end without what was lost', 'send({ type: "done" })'],
  [
    'an end with less than nothing left out',
    'send({ type: "done", returned: "1", omitted: -5, rejections: [] })',
  ],
  ['an id below zero', `send(${CALL(-1, 'slow')})`],
  [
    'a call with more values than any tool takes',
    'send({ type: "call", id: 1, tool: "slow", args: Object.fromEntries(Array.from({ length: 150_000 }, (_, at) => ["k" + at, 0])) })',
  ],
  [
    'a call that is nested deeper than any tool takes',
    `send('{"type":"call","id":1,"tool":"slow","args":{"a":' + '['.repeat(5000) + ']'.repeat(5000) + '}}')`,
  ],
])('a guest that sends %s is killed', async (_, body) => {
  const slow = tool('slow', (_, signal) => new Promise(resolve => signal.addEventListener('abort', resolve)));
  const result = await run('', {
    sandbox: await guests.sandbox(`${body}; setInterval(() => {}, 1000)`),
    tools: [slow],
  });
  expect(result).toMatchObject({ ok: false, returned: null });
  expect(result.error).toMatch(/sent an invalid message/);
});

test('a tool that the program does not have cannot be called', async () => {
  const called: string[] = [];
  const given = tool('given', async () => called.push('given'));
  const asks = ['secret', '__proto__', 'constructor', 'toString', 'hasOwnProperty', ''];
  const body = `${asks.map((name, at) => `send(${JSON.stringify(CALL(at, name))});`).join('\n')}
let text = '';
process.stdin.on('data', chunk => {
  text += chunk;
  const refused = text.split('Unknown tool').length - 1;
  if (refused === ${asks.length}) done(refused);
});`;
  const result = await run('', { sandbox: await guests.sandbox(body), tools: [given] });
  expect(result).toMatchObject({ ok: true, returned: String(asks.length) });
  expect(called).toEqual([]);
});

test('messages after the end are ignored', async () => {
  const called: string[] = [];
  const given = tool('given', async () => called.push('given'));
  const body = `done(1); done(2); send({ type: 'print', text: 'late' }); send(${CALL(1, 'given')}); setInterval(() => {}, 1000)`;
  const result = await run('', { sandbox: await guests.sandbox(body), tools: [given] });
  expect(result).toMatchObject({ returned: '1', output: '' });
  expect(called).toEqual([]);
});

test.each([
  ['with a code', 'process.exit(7)', /ended unexpectedly, with code 7/],
  [
    'by a signal',
    'process.on("SIGTERM", () => process.exit(3)); process.kill(1, "SIGTERM"); setInterval(() => {}, 1000)',
    /with code 3/,
  ],
  ['with words', 'console.error("something broke"); process.exit(1)', /something broke/],
  [
    'in the middle of a message',
    `sendBytes(${HEADER(100)}); sendBytes(Buffer.from("{")); process.exit(0)`,
    /with code 0/,
  ],
  ['because its heap is full', 'const all = []; for (;;) all.push({})', /more than 256 MB/],
])('a guest that exits unexpectedly, %s', async (_, body, error) => {
  const result = await run('', { sandbox: await guests.sandbox(body) });
  expect(result).toMatchObject({ ok: false, returned: null });
  expect(result.error).toMatch(error);
});

test('a guest that floods standard error is killed', async () => {
  const body = 'const line = "x".repeat(1e6); for (;;) require("node:fs").writeSync(2, line)';
  const result = await run('', { sandbox: await guests.sandbox(body) });
  expect(result.error).toMatch(/sent an invalid message/);
});

test('a guest that closes its pipe and keeps running is killed at the timeout', async () => {
  const body = 'require("node:fs").closeSync(1); setInterval(() => {}, 1000)';
  const result = await run('', { sandbox: await guests.sandbox(body), limits: { timeoutMs: 1500 } });
  expect(result.error).toMatch(/did not finish within 1\.5 s/);
});

test('a sandbox that was removed meanwhile is reported', async () => {
  const result = await run('', { sandbox: GONE });
  expect(result.ok).toBe(false);
  expect(result.error).toMatch(/ENOENT/);
});

test.each([
  [
    'more calls at once than there is room for',
    'for (let id = 0; id < 65; id++) send({ type: "call", id, tool: "slow", args: {} })',
  ],
  [
    'more in its calls than there is room for',
    'for (let id = 0; id < 5; id++) send({ type: "call", id, tool: "slow", args: { a: "x".repeat(8e6) } })',
  ],
])('a guest that has %s is killed', async (_, body) => {
  const slow = tool('slow', (_, signal) => new Promise(resolve => signal.addEventListener('abort', resolve)));
  const sandbox = await guests.sandbox(`${body}; setInterval(() => {}, 1000)`);
  expect((await run('', { sandbox, tools: [slow] })).error).toMatch(/sent an invalid message/);
});
