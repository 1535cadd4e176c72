import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sampleFace } from '../testing/sample-face.ts';
import { type SocketRig, socketRig, type WireLine } from '../testing/socket-client.ts';
import { until } from '../testing/until.ts';

const MiB = 1024 * 1024;
let rig: SocketRig;
let socket: Awaited<ReturnType<SocketRig['raw']>>['socket'];
let lines: WireLine[];
const errors: Error[] = [];

beforeEach(async () => {
  rig = await socketRig({
    build: () => sampleFace().face,
    maxLineBytes: MiB,
    onError: error => errors.push(error),
  });
  ({ socket, lines } = await rig.raw());
  send({
    jsonrpc: '2.0',
    id: 'hello',
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '0' } },
  });
  await answers(1);
  lines.length = 0;
});
afterEach(() => rig.close());

const send = (message: unknown) => socket.write(`${JSON.stringify(message)}\n`);
const answers = (count: number) => until(() => lines.length >= count, `${count} answers`);

/** Whatever happened before, the connection still serves. */
async function stillServes(): Promise<void> {
  const before = lines.length;
  send({
    jsonrpc: '2.0',
    id: 'after',
    method: 'tools/call',
    params: { name: 'echo', arguments: { still: true } },
  });
  await answers(before + 1);
  expect(lines.at(-1)).toMatchObject({
    id: 'after',
    result: { structuredContent: { args: { still: true } } },
  });
}

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Bytes that something still refers to. */
function retained(): number {
  collectGarbage();
  const { arrayBuffers, heapUsed } = process.memoryUsage();
  return arrayBuffers + heapUsed;
}

const REFUSED: [what: string, line: string | Buffer, code: number, id: unknown][] = [
  ['text that is not JSON', 'hello there', -32700, null],
  ['half a message', '{"jsonrpc":"2.0","id":1,', -32700, null],
  ['a NUL byte', Buffer.from([0]), -32700, null],
  ['a NUL byte inside a string', '{"jsonrpc":"2.0","id":1,"method":"a\u0000b"}', -32700, null],
  [
    'bytes that are not UTF-8',
    Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', 'latin1'),
    -32700,
    null,
  ],
  ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, null],
  ['an empty batch', '[]', -32600, null],
  ['a number', '42', -32600, null],
  ['null', 'null', -32600, null],
  ['a message without jsonrpc', '{"id":7,"method":"ping"}', -32600, 7],
  ['a method that is not a string', '{"jsonrpc":"2.0","id":"x","method":5}', -32600, 'x'],
  ['an id that cannot be one', '{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', -32600, null],
  ['params that are a string', '{"jsonrpc":"2.0","id":8,"method":"tools/list","params":"x"}', -32600, 8],
  ['an unknown method', '{"jsonrpc":"2.0","id":9,"method":"no/such"}', -32601, 9],
  ['a tool call without a name', '{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{}}', -32602, 10],
  [
    'tool arguments that are a list',
    '{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"echo","arguments":[1]}}',
    -32602,
    11,
  ],
  ['a prompt without a name', '{"jsonrpc":"2.0","id":12,"method":"prompts/get","params":{}}', -32602, 12],
  ['a resource without a uri', '{"jsonrpc":"2.0","id":13,"method":"resources/read"}', -32602, 13],
  ['a second, broken handshake', '{"jsonrpc":"2.0","id":14,"method":"initialize","params":{}}', -32602, 14],
];

describe('a line that cannot be served', () => {
  it.each(REFUSED)('%s is refused and the connection goes on', async (_what, line, code, id) => {
    socket.write(line);
    socket.write('\n');
    await answers(1);
    expect(lines[0]).toMatchObject({ jsonrpc: '2.0', id, error: { code, message: expect.any(String) } });
    expect(lines[0]?.error?.message).not.toMatch(/\n\s+at /);
    await stillServes();
    expect(lines).toHaveLength(2);
  });

  it('is answered with nothing when it is blank or an unknown notification', async () => {
    socket.write('\n  \r\n{"jsonrpc":"2.0","method":"notifications/no-such"}\r\n');
    await stillServes();
    expect(lines).toHaveLength(1);
  });

  it('may arrive in any number of pieces', { tags: ['R26'] }, async () => {
    const bytes = Buffer.from(
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"s":"grün"}}}\n',
    );
    for (const byte of bytes) socket.write(Buffer.of(byte));
    await answers(1);
    expect(lines[0]?.result?.structuredContent?.args).toEqual({ s: 'grün' });
  });
});

describe('a line over the limit', () => {
  const filler = 'x'.repeat(MiB);
  it.each([
    ['first', `{"jsonrpc":"2.0","id":21,"method":"tools/call","params":{"id":1,"s":"${filler}"}}`, 21],
    [
      'last, as the SDK writes it',
      `{"method":"tools/call","params":{"s":"${filler}","id":1},"jsonrpc":"2.0","id":"é"}`,
      'é',
    ],
    ['only inside params', `{"params":{"id":5,"s":"${filler}","id":6}}`, null],
    ['nowhere', `${filler}${filler}`, null],
  ])('is refused with its id when that stands %s', async (_where, line, id) => {
    socket.write(`${line}\n`);
    await answers(1);
    expect(lines[0]).toMatchObject({
      id,
      error: { code: -32600, data: { code: 'MESSAGE_TOO_LARGE', limitBytes: MiB } },
    });
    await stillServes();
  });

  it('is served when it is exactly the limit', async () => {
    const shell =
      '{"jsonrpc":"2.0","id":22,"method":"tools/call","params":{"name":"echo","arguments":{"s":""}}}';
    socket.write(`${shell.replace('""', `"${'x'.repeat(MiB - shell.length)}"`)}\n`);
    await answers(1);
    expect(lines[0]?.result?.structuredContent?.args).toEqual({ s: 'x'.repeat(MiB - shell.length) });
  });

  it('costs no memory: 100 MiB pass through 1 MiB', async () => {
    const chunk = Buffer.alloc(MiB, 'y');
    const before = retained();
    let most = 0;
    for (let sent = 1; sent <= 100; sent += 1) {
      await new Promise<void>(resolve => socket.write(chunk, () => resolve()));
      if (sent % 10 === 0) most = Math.max(most, retained() - before);
    }
    socket.write('\n');
    await answers(1);
    expect(lines[0]?.error?.data?.code).toBe('MESSAGE_TOO_LARGE');
    // The engine frees buffers a little after we let them go; kept ones would come to 100 MiB.
    expect(most).toBeLessThan(32 * MiB);
    await stillServes();
  });
});
