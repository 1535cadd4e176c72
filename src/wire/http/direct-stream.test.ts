import { afterEach, describe, expect, it } from 'vitest';
import type { Era } from '../face/face.ts';
import { message } from '../testing/edges.ts';
import { type FarFace, farFace } from '../testing/far-face.ts';
import { type SocketRig, socketRig } from '../testing/socket-client.ts';
import { until } from '../testing/until.ts';

let rig: SocketRig;
let far: FarFace;
let counts: number[];
afterEach(() => rig.close());

type Raw = Awaited<ReturnType<SocketRig['raw']>>;

const HELLO = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '0' } };

/** A client that has said who it is. */
async function start(era: Era, direct = true): Promise<Raw> {
  far = farFace({ direct });
  counts = [];
  rig = await socketRig({ build: () => far.face, onInFlight: count => counts.push(count), drainMs: 10_000 });
  const raw = await rig.raw();
  const [method, params] = era === 'legacy' ? ['initialize', HELLO] : ['server/discover', {}];
  raw.socket.write(`${JSON.stringify(message(era, method as string, params as object as never, 'hello'))}\n`);
  await until(() => raw.lines.length === 1, 'the handshake');
  raw.lines.length = 0;
  return raw;
}

const hold = (era: Era, id: number | string, key: string, token?: number) =>
  `${JSON.stringify(
    message(
      era,
      'tools/call',
      {
        name: 'far__hold',
        arguments: { key, isDeaf: key === 'deaf' },
        ...(token && { _meta: { progressToken: token } }),
      },
      id,
    ),
  )}\n`;
const cancel = (era: Era, id: number | string) => {
  const { id: _none, ...notice } = message(era, 'notifications/cancelled', { requestId: id });
  return `${JSON.stringify(notice)}\n`;
};
const holds = (count: number) => until(() => far.held.length === count, `${count} calls are under way`);
const inFlight = () => rig.connections[0]!.inFlight();

describe.each<[Era, 'direct' | 'sdk']>([
  ['legacy', 'direct'],
  ['modern', 'direct'],
  ['legacy', 'sdk'],
  ['modern', 'sdk'],
])('a call to another server of a %s client over a stream (%s)', (era, path) => {
  const isDirect = path === 'direct';

  it('is cancelled by its id alone, gets no answer, and is no longer in flight', async () => {
    const { socket, lines } = await start(era, isDirect);
    socket.write(hold(era, 1, 'one') + hold(era, '1', 'word') + hold(era, 2, 'two'));
    await holds(3);
    expect(inFlight()).toBe(3);
    socket.write(cancel(era, 1) + cancel(era, 99));
    await until(() => far.aborted.length === 1, 'the signal');
    expect([far.aborted, inFlight()]).toEqual([['one'], 2]);
    for (const { release } of far.held) release();
    await until(() => lines.length === 2, 'the other answers');
    expect(lines.map(({ id }) => id)).toEqual(['1', 2]);
    expect([inFlight(), Math.max(...counts), counts.at(-1)]).toEqual([0, 3, 0]);
    expect(far.past).toHaveLength(isDirect ? 3 : 0);
  });

  it('says nothing more after it was cancelled, even if the tool goes on', async () => {
    const { socket, lines } = await start(era, isDirect);
    socket.write(hold(era, 1, 'deaf', 5));
    await holds(1);
    far.held[0]!.call.progress?.({ progress: 1 });
    await until(() => lines.length === 1, 'the notice');
    socket.write(cancel(era, 1));
    await until(() => far.aborted.length === 1, 'the signal');
    far.held[0]!.call.progress?.({ progress: 2 });
    far.held[0]!.release();
    socket.write(hold(era, 2, 'two'));
    await holds(2);
    far.held[1]!.release();
    await until(() => lines.length === 2, 'the other answer');
    expect(lines).toMatchObject([
      { method: 'notifications/progress', params: { progressToken: 5 } },
      { id: 2 },
    ]);
  });

  it('is asked to stop when the client ends its input, and may still answer', async () => {
    const { socket, lines } = await start(era, isDirect);
    socket.write(hold(era, 1, 'one'));
    await holds(1);
    socket.end();
    await until(() => far.aborted.length === 1, 'the signal');
    await rig.connections[0]!.closed;
    await until(() => lines.length === 1, 'the answer');
    expect(lines).toMatchObject([{ id: 1, error: { code: -32603 } }]);
  });

  it('is aborted when the connection is closed, and gets no answer', async () => {
    const { socket, lines } = await start(era, isDirect);
    socket.write(hold(era, 1, 'one'));
    await holds(1);
    await rig.connections[0]!.close();
    await until(() => far.aborted.length === 1, 'the signal');
    expect([lines, inFlight(), counts.at(-1)]).toEqual([[], 0, 0]);
  });

  it('is aborted when the client is gone', async () => {
    const { socket } = await start(era, isDirect);
    socket.write(hold(era, 1, 'one'));
    await holds(1);
    socket.destroy();
    await until(() => far.aborted.length === 1, 'the signal');
    await rig.connections[0]!.closed;
  });

  it('is answered even if another of its id came after it; a cancellation is for the later one', async () => {
    const { socket, lines } = await start(era, isDirect);
    socket.write(hold(era, 1, 'first') + hold(era, 1, 'second') + hold(era, 1, 'third'));
    await holds(3);
    socket.write(cancel(era, 1));
    await until(() => far.aborted.length === 1, 'the signal');
    expect(far.aborted).toEqual(['third']);
    far.held[1]!.release();
    far.held[0]!.release();
    await until(() => lines.length === 2, 'both answers');
    expect(lines).toMatchObject([
      { id: 1, result: { content: [{ text: 'held second' }] } },
      { id: 1, result: { content: [{ text: 'held first' }] } },
    ]);
  });
});

describe('before a client has said who it is', () => {
  it('a call goes through the SDK, and so does one that comes with the handshake', async () => {
    far = farFace({ direct: true });
    rig = await socketRig({ build: () => far.face });
    const { socket, lines } = await rig.raw();
    const call = message('legacy', 'tools/call', { name: 'far__echo', arguments: {} }, 1);
    socket.write(`${JSON.stringify(message('legacy', 'initialize', HELLO, 0))}\n${JSON.stringify(call)}\n`);
    await until(() => lines.length === 2, 'both answers');
    expect(lines.map(({ id }) => id)).toEqual([0, 1]);
    expect(far.past).toEqual([]);
    socket.write(`${JSON.stringify({ ...call, id: 2 })}\n`);
    await until(() => lines.length === 3, 'the next answer');
    expect(far.past).toHaveLength(1);
  });

  it('a legacy connection stays one: modern requests on it are left to the SDK', async () => {
    const { socket, lines } = await start('legacy');
    socket.write(`${JSON.stringify(message('modern', 'tools/call', { name: 'far__echo' }, 1))}\n`);
    await until(() => lines.length === 1, 'the answer');
    expect(far.past).toEqual([]);
  });
});
