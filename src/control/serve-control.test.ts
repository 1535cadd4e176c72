import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import type { Services } from '../operations/operation.ts';
import { serveControl } from './serve-control.ts';

const CALLER = { client: 'terminal', cwd: '/', workspace: null, env: {}, parent: null };

/** A terminal and the hub's end of its connection. No operation is reached here, so none needs its services. */
async function connected(): Promise<{ terminal: Socket; over: Promise<void> }> {
  const over = Promise.withResolvers<void>();
  const server = createServer(socket => {
    const options = { services: {} as Services, caller: CALLER, onInFlight: () => {} };
    void serveControl(socket, options).then(over.resolve);
    server.close();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const terminal = connect((server.address() as { port: number }).port, '127.0.0.1');
  terminal.on('error', () => {});
  await once(terminal, 'connect');
  return { terminal, over: over.promise };
}

test('a line that never ends is cut off before it fills the memory', async () => {
  const { terminal, over } = await connected();
  const piece = Buffer.alloc(1024 * 1024, 'x');
  let pieces = 0;
  const more = () => {
    while (!terminal.destroyed && pieces++ < 64) if (!terminal.write(piece)) return;
  };
  terminal.on('drain', more);
  more();
  await over;
  expect(terminal.bytesWritten).toBeLessThan(64 * 1024 * 1024);
});

test('a long line that ends is answered', async () => {
  const { terminal, over } = await connected();
  terminal.write(`{"id":7,"operation":"nothing of this name","input":"${'x'.repeat(1024 * 1024)}"}\n`);
  const [reply] = (await once(terminal, 'data')) as [Buffer];
  expect(JSON.parse(reply.toString())).toMatchObject({ id: 7, error: { code: 'UNKNOWN_OPERATION' } });
  terminal.destroy();
  await over;
});
