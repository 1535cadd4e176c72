import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { LiveClient } from './live-socket.ts';

const MAX_UNSENT = 256 * 1024;
const MESSAGE = Buffer.alloc(32 * 1024, 'x');

let server: WebSocketServer;
afterEach(() => {
  for (const client of server.clients) client.terminate();
  server.close();
});

async function connected() {
  server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const reader = new WebSocket(`ws://127.0.0.1:${(server.address() as { port: number }).port}`);
  const [[socket]] = (await Promise.all([once(server, 'connection'), once(reader, 'open')])) as [
    [WebSocket],
    unknown,
  ];
  const page = new LiveClient(socket, {
    silentMs: 60_000,
    maxUnsentBytes: MAX_UNSENT,
    reset: () => Buffer.from('reset'),
  });
  const heard: string[] = [];
  reader.on('message', data => heard.push(String(data)));
  return { page, socket, reader, heard };
}

test('no more is kept for a page that does not read than the limit and one message', {
  tags: ['D9'],
}, async () => {
  const { page, socket, reader, heard } = await connected();
  reader.pause();
  let most = 0;
  let taken = 0;
  for (let i = 0; i < 2_000; i++) {
    if (page.send(MESSAGE)) taken += 1;
    most = Math.max(most, socket.bufferedAmount);
    if (i % 50 === 0) await new Promise(setImmediate);
  }
  expect(most).toBeGreaterThan(MAX_UNSENT);
  expect(most).toBeLessThan(MAX_UNSENT + 2 * MESSAGE.length);
  reader.resume();
  await expect.poll(() => heard.at(-1)).toBe('reset');
  expect(heard.filter(message => message !== 'reset')).toHaveLength(taken);
  page.send(Buffer.from('after'));
  await expect.poll(() => heard.at(-1)).toBe('after');
  expect(heard.filter(message => message === 'reset')).toHaveLength(1);
});

test('a page that keeps up hears everything, in order', async () => {
  const { page, heard } = await connected();
  for (let i = 0; i < 1_000; i++) {
    page.send(Buffer.from(String(i)));
    if (i % 10 === 0) await new Promise(setImmediate);
  }
  await expect.poll(() => heard.length).toBe(1_000);
  expect(heard).toEqual(Array.from({ length: 1_000 }, (_, i) => String(i)));
});

test('to a page that has gone nothing is sent', async () => {
  const { page, socket, reader } = await connected();
  reader.terminate();
  await once(socket, 'close');
  expect(page.send(MESSAGE)).toBe(false);
  expect(socket.bufferedAmount).toBe(0);
});
