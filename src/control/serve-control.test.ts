import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import type { UserServices } from '../operations/operation.ts';
import { serveControl } from './serve-control.ts';

const CALLER = { client: 'terminal', cwd: '/', workspace: null, env: {}, parent: null };

/** A terminal and the hub's end of its connection. No operation is reached here, so none needs its services. */
async function connected(): Promise<{ terminal: Socket; over: Promise<void> }> {
  const over = Promise.withResolvers<void>();
  const server = createServer(socket => {
    const options = { services: {} as UserServices, caller: CALLER, onInFlight: () => {} };
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

test.each([
  ['no JSON', 'nonsense', 0],
  ['an empty line', '', 0],
  ['half an object', '{"id":3', 0],
  ['binary', '\u0000\u0001\u009d', 0],
  ['null', 'null', 0],
  ['a list', '[1]', 0],
  ['a text', '"run"', 0],
  ['no operation', '{"id":3}', 3],
  ['an operation that is no text', '{"id":3,"operation":{}}', 3],
  ['no id', '{"operation":"list_runs"}', 0],
  ['an id that is no number', '{"id":{},"operation":"list_runs"}', 0],
  ['a wait that is no number', '{"id":3,"operation":"list_runs","waitMs":"long"}', 3],
  ['deep nesting', '['.repeat(1_000_000), 0],
])(
  'a malformed line (%s) is an error of its sender, and the next line is answered',
  async (_what, line, id) => {
    const { terminal, over } = await connected();
    terminal.write(`${line}\n{"id":7,"operation":"nothing of this name"}\n`);
    let heard = '';
    for await (const chunk of terminal.setEncoding('utf8')) {
      heard += chunk;
      if (heard.split('\n').length > 2) break;
    }
    const [first, second] = heard
      .split('\n')
      .slice(0, 2)
      .map(reply => JSON.parse(reply) as object)
      .sort((one, other) => Number('id' in one && one.id === 7) - Number('id' in other && other.id === 7));
    expect(first).toMatchObject({ id, error: { code: 'INVALID_INPUT', kind: 'usage' } });
    expect(second).toMatchObject({ id: 7, error: { code: 'UNKNOWN_OPERATION' } });
    await over;
  },
);
