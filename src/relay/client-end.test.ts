import { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ClientEnd } from './client-end.ts';

const LINE = `${'x'.repeat(1_000)}\n`;
/** Far more than what lies between the two holds. */
const LINES = 200;

let output: PassThrough;
let hub: Socket;
let client: ClientEnd;
let warnings: Error[];
const onWarning = (warning: Error) => warnings.push(warning);
beforeEach(() => {
  output = new PassThrough();
  hub = new Socket();
  client = new ClientEnd(new PassThrough(), output, { line() {}, piece() {} });
  client.goesTo(hub);
  warnings = [];
  process.on('warning', onWarning);
});
afterEach(() => {
  process.off('warning', onWarning);
  hub.destroy();
});

const sayAll = () => {
  for (let n = 0; n < LINES; n++) client.write(LINE);
};
const nextTurn = () => new Promise(settle => setImmediate(settle));

/** Reads until there were so many bytes. */
function readAll(): Promise<void> {
  let left = LINES * LINE.length;
  return new Promise(settle =>
    output.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left === 0) settle();
    }),
  );
}

test('a client that does not read holds back the hub until it does, however much was said, without a warning', async () => {
  sayAll();
  expect(hub.isPaused()).toBe(true);
  await readAll();
  await nextTurn();
  expect(hub.isPaused()).toBe(false);
  expect(warnings).toEqual([]);
});

test('a client that has not read everything when it is released is not waited for', async () => {
  sayAll();
  client.letGo();
  client.write(LINE);
  expect(hub.isPaused()).toBe(false);
  await client.untilRead();
  expect(output.writableLength).toBeGreaterThan(0);
});

test.each([
  { who: 'had read everything when it was let go', isLate: false },
  { who: 'reads on after that', isLate: true },
])('a client that $who is waited for', async ({ isLate }) => {
  if (isLate) sayAll();
  client.letGo();
  if (isLate) await readAll();
  output.pause();
  await nextTurn();
  sayAll();
  let isRead = false;
  const read = client.untilRead().then(() => {
    isRead = true;
  });
  await nextTurn();
  expect(isRead).toBe(false);
  output.resume();
  await read;
  expect(output.writableLength).toBe(0);
});
