import { afterEach, describe, expect, test } from 'vitest';
import type { Era } from '../face/face.ts';
import { until } from '../testing/until.ts';
import { openHttpLink } from './http-link.ts';
import type { UpstreamLink } from './link.ts';
import { serveSample } from './testing/http-servers.ts';
import { clientInfo, type Heard, linkTo, listener, startFixture } from './testing/stdio-rig.ts';

interface Rig {
  link: UpstreamLink;
  heard: Heard;
  holds(): string;
}

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const over: Record<string, (era: Era) => Promise<Rig>> = {
  stdio: async era => {
    const heard = listener();
    const rig = startFixture('sdk-stdio-server.ts', era);
    closing.push(rig.end);
    const link = await linkTo(rig, heard.events);
    closing.push(link.close);
    return { link, heard, holds: rig.log };
  },
  http: async era => {
    const heard = listener();
    const server = await serveSample(era);
    closing.push(server.close);
    const link = await openHttpLink({
      kind: 'http',
      url: server.url,
      headers: {},
      events: heard.events,
      clientInfo,
      startTimeoutMs: 20_000,
    });
    closing.push(link.close);
    return { link, heard, holds: () => server.holds.join('\n') };
  },
};

const soon = { timeoutMs: 20_000 };

describe.each([
  ['stdio', 'legacy'],
  ['stdio', 'modern'],
  ['http', 'legacy'],
  ['http', 'modern'],
] as const)('over %s, with a server that knows only %s', (transport, era) => {
  const open = over[transport]!;

  test('its own handshake is used, and everything it has can be used', { tags: ['R6'] }, async () => {
    const { link, heard } = await open(era);
    expect(link).toMatchObject({ era, server: { name: 'sample', version: '1.2.3' } });
    expect(link.capabilities).toMatchObject({ tools: { listChanged: true }, prompts: {}, resources: {} });

    const list = await link.request('tools/list', {}, soon);
    expect((list.tools as { name: string }[]).map(({ name }) => name)).toEqual([
      'echo',
      'count',
      'hold',
      'change',
    ]);
    expect(
      await link.request('tools/call', { name: 'echo', arguments: { text: 'Grüße\u2028' } }, soon),
    ).toMatchObject({ content: [{ type: 'text', text: 'Grüße\u2028' }] });
    expect(await link.request('resources/read', { uri: 'sample://a' }, soon)).toMatchObject({
      contents: [{ uri: 'sample://a', text: 'the text of a' }],
    });
    expect(
      await link.request('prompts/get', { name: 'greet', arguments: { name: 'Ada' } }, soon),
    ).toMatchObject({
      messages: [{ content: { text: 'Greet Ada' } }],
    });
    const params = { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'name', value: 'A' } };
    expect(await link.request('completion/complete', params, soon)).toMatchObject({
      completion: { values: ['Ada', 'Alan'] },
    });
    expect(link.inFlight()).toBe(0);
    expect(heard.stray).toBe(0);
  });

  test('progress comes before the result, under a token the caller never chose', async () => {
    const { link } = await open(era);
    const seen: number[] = [];
    const params = { name: 'count', arguments: {}, _meta: { progressToken: 'mine', evil: true } };
    const result = await link.request('tools/call', params, {
      ...soon,
      onProgress: ({ progress }) => seen.push(progress),
    });
    expect(result).toMatchObject({ content: [{ text: 'three' }] });
    expect(seen).toEqual([1, 2, 3]);
  });

  test('a request that is taken back is taken back at the server, too', async () => {
    const { link, holds } = await open(era);
    const taken = new AbortController();
    const call = link.request(
      'tools/call',
      { name: 'hold', arguments: {} },
      { ...soon, signal: taken.signal },
    );
    const outcome = expect(call).rejects.toMatchObject({ kind: 'cancelled' });
    await until(() => holds().includes('held'), 'the call is held');
    expect(link.inFlight()).toBe(1);
    taken.abort();
    await outcome;
    expect(link.inFlight()).toBe(0);
    await until(() => holds().includes('aborted'), 'the server lets go of it');
    expect(await link.request('tools/list', {}, soon)).toHaveProperty('tools');
  });

  test('an error of the server comes as it is and is no fault of the link', async () => {
    const { link } = await open(era);
    const fault = await link.request('no/such', {}, soon).catch(error => error);
    expect(fault).toMatchObject({ kind: 'answer', error: { code: -32601 } });
    expect(await link.request('tools/list', {}, soon)).toHaveProperty('tools');
  });

  test('a call without an answer ends in time', async () => {
    const { link, holds } = await open(era);
    const call = link.request('tools/call', { name: 'hold', arguments: {} }, { timeoutMs: 300 });
    await expect(call).rejects.toMatchObject({ kind: 'timeout' });
    await until(() => holds().includes('aborted'), 'the server lets go of it');
  });

  test('closing fails what is under way, and settles', async () => {
    const { link, holds } = await open(era);
    const call = link.request('tools/call', { name: 'hold', arguments: {} }, soon);
    const outcome = expect(call).rejects.toMatchObject({ kind: 'transport' });
    await until(() => holds().includes('held'), 'the call is held');
    await link.close();
    await outcome;
    expect(await link.closed).toMatchObject({ kind: 'transport' });
    await expect(link.request('tools/list', {}, soon)).rejects.toMatchObject({ kind: 'transport' });
  });
});

test.each(['legacy', 'modern'] as const)('a change over http reaches us (%s)', async era => {
  const heard = listener();
  const server = await serveSample(era);
  closing.push(server.close);
  const link = await openHttpLink({
    kind: 'http',
    url: server.url,
    headers: {},
    events: heard.events,
    clientInfo,
    startTimeoutMs: 20_000,
  });
  closing.push(link.close);
  const isHeard = () => heard.notices.some(({ method }) => method === 'notifications/tools/list_changed');
  await until(() => {
    server.change();
    return isHeard();
  }, 'the notice comes');
});

test.each(['legacy', 'modern'] as const)('a change over stdio reaches us (%s)', async era => {
  const { link, heard } = await over.stdio!(era);
  await link.request('tools/call', { name: 'change', arguments: {} }, soon);
  await until(
    () => heard.notices.some(({ method }) => method === 'notifications/tools/list_changed'),
    'the notice comes',
  );
  expect(heard.stray).toBe(0);
});
