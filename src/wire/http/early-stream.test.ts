import { afterEach, describe, expect, it } from 'vitest';
import { type HttpRig, httpRig } from '../testing/http-rig.ts';
import { type SampleFace, sampleFace } from '../testing/sample-face.ts';
import { until } from '../testing/until.ts';

let rig: HttpRig;
let sample: SampleFace;
afterEach(() => rig.close());

async function start(openStreamMs: number): Promise<void> {
  sample = sampleFace();
  rig = await httpRig({ build: () => sample.face, openStreamMs });
}

/** A modern call that does not ask for progress. */
function call(name: string, headers: Record<string, string> = {}): Promise<Response> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const body = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name, arguments: {}, _meta } };
  const named = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name };
  return rig.post(JSON.stringify(body), { ...named, ...headers });
}

describe('a modern call that takes long, for a client that asked for no progress', () => {
  it('has its stream opened before there is an answer', async () => {
    await start(1);
    const response = await call('hold');
    expect(sample.ended).toEqual([]);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    await until(() => sample.held.length === 1, 'the call');
    sample.held[0]!.release();
    const [comment, event] = (await response.text()).split('\n\n');
    expect(comment).toBe(': working');
    expect(JSON.parse(event!.replace('event: message\ndata: ', ''))).toMatchObject({
      id: 7,
      result: { structuredContent: { how: 'released' } },
    });
  });

  it('is answered in one piece when its client reads no streams', async () => {
    await start(1);
    const answer = call('hold', { accept: 'application/json' });
    await until(() => sample.held.length === 1, 'the call');
    // Its own time is over when that of a later call is.
    await call('hold');
    sample.held[0]!.release();
    expect((await answer).headers.get('content-type')).toContain('application/json');
  });

  it('aborts when the client leaves the stream', async () => {
    await start(1);
    const response = await call('hold');
    await until(() => sample.held.length === 1, 'the call');
    await response.body!.cancel();
    await until(() => sample.ended.length === 1, 'the signal');
    expect(sample.ended).toEqual(['aborted']);
    await until(() => rig.handler.inFlight() === 0, 'nothing is in flight');
  });

  it('gets an error inside the stream', async () => {
    await start(1);
    let finish = (_result: null) => {};
    sample.face.tools.call = () =>
      new Promise(resolve => {
        finish = resolve;
      });
    const response = await call('late');
    finish(null);
    expect(await response.text()).toContain(
      '{"code":-32602,"message":"Unknown tool: late","data":{"tool_name":"late"}}',
    );
  });

  it('ends with its error inside the stream when its owner loses access', async () => {
    await start(1);
    const response = await call('hold');
    await until(() => sample.held.length === 1, 'the call');
    await rig.handler.endSessions('');
    expect(await response.text()).toContain(
      '{"code":-32000,"message":"This access has ended","data":{"tool_name":"hold"}}',
    );
  });
});

describe('a real client whose streams open early', () => {
  it('gets progress and results as ever', async () => {
    await start(1);
    const client = await rig.client('modern');
    const seen: unknown[] = [];
    const held = client.callTool({ name: 'hold' }, { onprogress: notice => seen.push(notice) });
    await until(() => sample.held.length === 1, 'the call');
    await sample.held[0]!.call.progress('halfway', 1, 2);
    await until(() => seen.length === 1, 'progress');
    sample.held[0]!.release();
    expect((await held).structuredContent).toEqual({ how: 'released' });
  });
});

describe('a call that is quick', () => {
  it('is answered in one piece', async () => {
    await start(10_000);
    expect((await call('echo')).headers.get('content-type')).toContain('application/json');
  });
});

describe('a legacy call that takes long', () => {
  it('has its stream opened at once', async () => {
    await start(10_000);
    const clientInfo = { name: 'raw', version: '0' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const hello = await rig.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }));
    await hello.text();
    const headers = { 'mcp-session-id': hello.headers.get('mcp-session-id') ?? '' };
    const body = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'hold', arguments: {} } };
    const response = await rig.post(JSON.stringify(body), headers);
    const first = await response.body!.getReader().read();
    expect([sample.ended, new TextDecoder().decode(first.value)]).toEqual([[], ': open\n\n']);
  });
});
