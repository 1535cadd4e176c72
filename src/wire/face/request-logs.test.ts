import { afterEach, expect, it } from 'vitest';
import { type SampleFace, sampleFace } from '../testing/sample-face.ts';
import { type SocketRig, socketRig } from '../testing/socket-client.ts';
import { until } from '../testing/until.ts';

let rig: SocketRig;
let sample: SampleFace;
afterEach(() => rig.close());

const LEVELS = ['debug', 'info', 'warning', 'error'] as const;

async function start() {
  sample = sampleFace();
  rig = await socketRig({ build: () => ({ ...sample.face, logging: true }) });
}

/** A call in which one message of each level is said; returns those the client heard before its answer. */
async function heardBy(
  client: Awaited<ReturnType<SocketRig['client']>>,
  meta?: Record<string, unknown>,
): Promise<string[]> {
  const heard: string[] = [];
  client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params.level));
  const before = sample.held.length;
  const answer = client.callTool({ name: 'hold', arguments: {}, ...(meta && { _meta: meta }) });
  await until(() => sample.held.length > before, 'the call');
  const { call, release } = sample.held.at(-1)!;
  for (const level of LEVELS) call.log({ level, data: level, logger: 'it' });
  release();
  await answer;
  return heard;
}

it('a legacy client hears what it asked for, and without asking nothing that is for a close look only', async () => {
  await start();
  const client = await rig.client('legacy');
  expect(await heardBy(client)).toEqual(['info', 'warning', 'error']);
  await client.setLoggingLevel('debug');
  expect(await heardBy(client)).toEqual([...LEVELS]);
  await client.setLoggingLevel('error');
  expect(await heardBy(client)).toEqual(['error']);
});

it('a modern client hears what this very request asks for, and without asking nothing', async () => {
  await start();
  const client = await rig.client('modern');
  expect(await heardBy(client)).toEqual([]);
  expect(await heardBy(client, { 'io.modelcontextprotocol/logLevel': 'warning' })).toEqual([
    'warning',
    'error',
  ]);
});
