import { afterEach, describe, expect, test } from 'vitest';
import { until } from '../testing/until.ts';
import { openHttpLink } from './http-link.ts';
import { type SseEvent, SseParser } from './sse.ts';
import { serve } from './testing/http-servers.ts';
import { serveSse } from './testing/sse-server.ts';
import { clientInfo, listener } from './testing/stdio-rig.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const soon = { timeoutMs: 10_000 };

async function open(url: string, startTimeoutMs = 10_000) {
  const heard = listener();
  const link = await openHttpLink({
    kind: 'sse',
    url,
    headers: { 'x-key': 'k' },
    events: heard.events,
    clientInfo,
    startTimeoutMs,
  });
  closing.push(link.close);
  return { link, heard };
}

async function given(endpoint?: string) {
  const server = await serveSse(endpoint);
  closing.push(server.close);
  return server;
}

test('everything a server of 2024 has can be used', async () => {
  const server = await given();
  const { link, heard } = await open(server.url);
  expect(link).toMatchObject({ era: 'legacy', server: { name: 'sample' } });
  const seen: number[] = [];
  const counted = await link.request(
    'tools/call',
    { name: 'count', arguments: {} },
    { ...soon, onProgress: ({ progress }) => seen.push(progress) },
  );
  expect(counted).toMatchObject({ content: [{ text: 'three' }] });
  expect(seen).toEqual([1, 2, 3]);
  expect(await link.request('resources/read', { uri: 'sample://a' }, soon)).toHaveProperty('contents');
  await link.request('tools/call', { name: 'change', arguments: {} }, soon);
  expect(heard.notices.map(({ method }) => method)).toContain('notifications/tools/list_changed');
  expect(server.asked.every(({ headers }) => headers['x-key'] === 'k')).toBe(true);
});

test('a request is taken back at the server', async () => {
  const server = await given();
  const { link } = await open(server.url);
  const taken = new AbortController();
  const call = link.request('tools/call', { name: 'hold', arguments: {} }, { ...soon, signal: taken.signal });
  const outcome = expect(call).rejects.toMatchObject({ kind: 'cancelled' });
  await until(() => server.holds.includes('held'), 'the call is held');
  taken.abort();
  await outcome;
  await until(() => server.holds.includes('aborted'), 'the server lets go of it');
});

test('the end of the stream is the end of the link', async () => {
  const server = await given();
  const { link } = await open(server.url);
  const call = link.request('tools/call', { name: 'hold', arguments: {} }, soon);
  const outcome = expect(call).rejects.toMatchObject({ kind: 'transport' });
  await until(() => server.holds.includes('held'), 'the call is held');
  server.hangUp();
  await outcome;
  expect(await link.closed).toMatchObject({ kind: 'transport' });
});

test('a server that wants its messages sent elsewhere is refused', async () => {
  const server = await given('http://elsewhere.test/messages');
  await expect(open(server.url)).rejects.toMatchObject({
    kind: 'transport',
    message: expect.stringContaining('another host'),
  });
});

test('a stream that says nothing, not even where to send to, is given up', async () => {
  const server = await serve((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': hello\n\n');
  });
  closing.push(server.close);
  await expect(open(server.url, 300)).rejects.toMatchObject({ kind: 'timeout' });
});

test.each([
  [401, 'unauthorized'],
  [404, 'transport'],
])('HTTP %i at the start is %s', async (status, kind) => {
  const server = await serve((_request, response) => void response.writeHead(status).end());
  closing.push(server.close);
  await expect(open(server.url)).rejects.toMatchObject({ kind });
});

function parse(text: string, chunkBytes: number) {
  const events: SseEvent[] = [];
  const parser = new SseParser(1000, event => events.push(event));
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkBytes) parser.push(bytes.subarray(at, at + chunkBytes));
  return { events, parser };
}

describe.each([1, 2, 3, 1000])('in pieces of %i bytes', chunkBytes => {
  test.each(['\n', '\r\n', '\r'])('events are cut at blank lines that end with %j', end => {
    const lines = [
      '\uFEFF: hello',
      'event: endpoint',
      'data: /é€😀',
      '',
      'data:one',
      'data:  two',
      'data',
      'id: 7',
      '',
    ];
    const { events, parser } = parse([...lines, '', 'retry: 5', 'data: x', ''].join(end) + end, chunkBytes);
    expect(events).toEqual([
      { type: 'endpoint', data: '/é€😀' },
      { type: 'message', data: 'one\n two\n' },
      { type: 'message', data: 'x' },
    ]);
    expect(parser).toMatchObject({ lastEventId: '7', retryMs: 5 });
  });

  test('an event that was cut off is none', () => {
    expect(parse('data: a\n\ndata: b\n', chunkBytes).events).toEqual([{ type: 'message', data: 'a' }]);
  });

  test('an event over the limit is refused, in one line or in many', () => {
    expect(() => parse(`data: ${'x'.repeat(1000)}`, chunkBytes)).toThrow('1000 bytes');
    expect(() => parse('data:\n'.repeat(100), chunkBytes)).toThrow('1000 bytes');
    expect(() => parse('event: x\n'.repeat(100), chunkBytes)).toThrow('1000 bytes');
  });

  test('comments and small events may go on for ever', () => {
    expect(parse(`${': still here\n'.repeat(500)}data: a\n\n`.repeat(3), chunkBytes).events).toHaveLength(3);
  });
});

test('ids that cannot be sent back are no ids', () => {
  expect(parse('id: a\0b\n\nid: é\n\n', 1000).parser.lastEventId).toBeNull();
});
