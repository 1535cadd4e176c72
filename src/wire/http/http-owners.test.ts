import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import type { Era } from '../face/face.ts';
import { type HttpRig, httpRig } from '../testing/http-rig.ts';
import { type SampleFace, sampleFace } from '../testing/sample-face.ts';
import { until } from '../testing/until.ts';

let rig: HttpRig;
let sample: SampleFace;
let owners: string[];
afterEach(() => rig.close());

async function start(): Promise<void> {
  sample = sampleFace();
  owners = [];
  rig = await httpRig({
    build: () => sample.face,
    owner: request => {
      owners.push(String(request.headers['x-user']));
      return String(request.headers['x-user']);
    },
  });
}

const ann = { 'x-user': 'ann' };
const bob = { 'x-user': 'bob' };

describe.each<Era>(['legacy', 'modern'])('when the access of an owner ends, a %s client of its', era => {
  it('has its calls aborted with an error, and nobody else has', async () => {
    await start();
    const [mine, other] = [await rig.client(era, ann), await rig.client(era, bob)];
    const lost = mine.callTool({ name: 'hold' });
    lost.catch(() => {});
    await until(() => sample.held.length === 1, 'the call of ann');
    const kept = other.callTool({ name: 'hold' });
    await until(() => sample.held.length === 2, 'the call of bob');
    await rig.handler.endSessions('ann');
    await until(() => sample.ended.length === 1, 'the signal');
    expect(sample.held.map(({ call }) => call.signal.aborted)).toEqual([true, false]);
    sample.held[1]!.release();
    expect((await kept).structuredContent).toEqual({ how: 'released' });
    await expect(lost).rejects.toMatchObject({ code: -32000, message: /This access has ended/ });
    await until(() => rig.handler.inFlight() === 0, 'nothing is in flight');
  });

  it('gets an error in a stream that is open already', async () => {
    await start();
    const client = await rig.client(era, ann);
    const seen: unknown[] = [];
    const lost = client.callTool({ name: 'hold' }, { onprogress: notice => seen.push(notice) });
    lost.catch(() => {});
    await until(() => sample.held.length === 1, 'the call');
    await sample.held[0]!.call.progress('working');
    await until(() => seen.length === 1, 'the stream is open');
    await rig.handler.endSessions('ann');
    await expect(lost).rejects.toMatchObject({ code: -32000 });
  });

  it('has its listening stream ended', async () => {
    await start();
    if (era === 'modern') {
      const subscription = await (await rig.client(era, ann)).listen({ toolsListChanged: true });
      await rig.handler.endSessions('ann');
      expect(await subscription.closed).toBe('graceful');
      return;
    }
    const session = await openSession();
    const headers = { ...ann, accept: 'text/event-stream', 'mcp-session-id': session };
    const stream = await fetch(rig.url, { headers });
    expect(stream.status).toBe(200);
    await rig.handler.endSessions('ann');
    expect(await stream.text()).toBe(': open\n\n');
    expect((await fetch(rig.url, { headers })).status).toBe(404);
    expect(rig.handler.sessions()).toBe(0);
  });
});

describe('a request that was let in before the access of its owner ended', () => {
  it('is refused when its body comes after it', async () => {
    await start();
    const body = JSON.stringify(initialize);
    const late = httpRequest(rig.url, {
      method: 'POST',
      headers: {
        ...ann,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'content-length': body.length,
      },
    });
    late.flushHeaders();
    await until(() => owners.includes('ann'), 'the request is let in');
    await rig.handler.endSessions('ann');
    late.end(body);
    const [response] = await once(late, 'response');
    response.resume();
    expect(response.statusCode).toBe(403);
    expect(rig.handler.sessions()).toBe(0);
  });
});

describe('a session that opens while the access of its owner ends', () => {
  it('does not outlive it', async () => {
    sample = sampleFace();
    const ending: Promise<void>[] = [];
    rig = await httpRig({
      owner: () => 'ann',
      build: () => {
        ending.push(rig.handler.endSessions('ann'));
        return sample.face;
      },
    });
    await rig.post(JSON.stringify(initialize));
    await Promise.all(ending);
    expect([ending.length, rig.handler.sessions()]).toEqual([1, 0]);
  });
});

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '0' } },
};

async function openSession(): Promise<string> {
  const response = await rig.post(JSON.stringify(initialize), ann);
  await response.text();
  return response.headers.get('mcp-session-id') ?? '';
}
