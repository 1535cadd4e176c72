import { expect, it } from 'vitest';
import { sampleFace } from '../testing/sample-face.ts';
import { socketRig } from '../testing/socket-client.ts';
import { until } from '../testing/until.ts';

const MANY = 10_000;
const WORDS = 'x'.repeat(4_000);
const send = (socket: { write(text: string): unknown }, message: object) =>
  socket.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

it('log messages are not stored up for a client that does not read; its answer is', async () => {
  const sample = sampleFace();
  const rig = await socketRig({ build: () => ({ ...sample.face, logging: true }) });
  try {
    const { socket, lines } = await rig.raw();
    send(socket, {
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'deaf', version: '0' } },
    });
    await until(() => lines.length === 1, 'the handshake');
    send(socket, { id: 1, method: 'tools/call', params: { name: 'hold', arguments: {} } });
    await until(() => sample.held.length === 1, 'the call');
    socket.pause();
    const { call, release } = sample.held[0]!;
    for (let i = 0; i < MANY; i++) call.log({ level: 'info', data: WORDS });
    release();
    socket.resume();
    await until(() => lines.some(({ id }) => id === 1), 'its answer');
    const told = lines.filter(({ method }) => method === 'notifications/message').length;
    expect(told).toBeGreaterThan(0);
    expect(told).toBeLessThan(MANY / 2);
  } finally {
    await rig.close();
  }
});
