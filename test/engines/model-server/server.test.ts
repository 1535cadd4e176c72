import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { WireFormat } from './conversation.ts';
import { mock } from './script.ts';
import { type ModelServer, startModelServer } from './server.ts';
import { anthropicClient } from './wire-clients/anthropic-client.ts';
import { chatClient } from './wire-clients/chat-client.ts';
import { geminiClient } from './wire-clients/gemini-client.ts';
import { responsesClient } from './wire-clients/responses-client.ts';
import type { Heard, WireClient } from './wire-clients/wire-client.ts';

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(() => server.close());

const CLIENTS: Record<WireFormat['name'], WireClient> = {
  anthropic: anthropicClient,
  responses: responsesClient,
  chat: chatClient,
  gemini: geminiClient,
};
const FORMATS = Object.keys(CLIENTS) as WireFormat['name'][];
const WAYS = FORMATS.flatMap(name => [
  { name, stream: false, how: 'whole' },
  { name, stream: true, how: 'streamed' },
]);

describe.each(WAYS)('$name, $how', ({ name, stream }) => {
  const client = CLIENTS[name];
  const post = (prompt: string, signal?: AbortSignal) =>
    fetch(server.url + client.path(stream), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'test/1' },
      body: JSON.stringify(client.body(prompt, stream)),
      signal,
    });
  const heard = async (prompt: string): Promise<Heard> => {
    const response = await post(prompt);
    expect(response.status).toBe(200);
    const text = await response.text();
    return stream ? client.streamed(eventsOf(text)) : client.whole(JSON.parse(text));
  };

  test('says the text and what it counted', async () => {
    const usage = { input: 120, output: 7, cached: 100 };
    const answer = await heard(mock([{ text: 'Grüße, 世界 🙂', usage }], 'a'));
    expect(answer).toEqual({ text: 'Grüße, 世界 🙂', call: null, ...usage });
    expect(server.usage({ tag: 'a' })).toEqual({ answers: 1, ...usage });
  });

  test('calls a tool, with a word before it', async () => {
    const answer = await heard(mock([{ text: 'Looking.', shell: 'echo "hi"' }]));
    expect(answer.text).toBe('Looking.');
    expect(Object.values(answer.call?.arguments as object)).toEqual(['echo "hi"']);
    expect(server.requests[0]).toMatchObject({
      tools: [answer.call?.name],
      userAgent: 'test/1',
      model: 'm',
      status: 200,
    });
  });

  test('says 200,000 bytes', async () => {
    expect((await heard(mock([{ bytes: 200_000 }]))).text).toHaveLength(200_000);
  });

  test('says ok to who asks for nothing, and counts that too', async () => {
    const answer = await heard('hello');
    expect(answer.text).toBe('ok');
    expect(server.usage()).toEqual({ answers: 1, input: answer.input, output: answer.output, cached: 0 });
    expect(answer.input).toBeGreaterThan(0);
  });

  test.each([401, 403, 429, 500, 529])('fails with %i and counts nothing', async status => {
    const response = await post(mock([{ status }], 'a'));
    expect(response.status).toBe(status);
    expect(JSON.stringify(await response.json())).toContain(`scripted ${status}`);
    expect(server.usage({ tag: 'a' }).answers).toBe(0);
  });

  test('fails as often as told', async () => {
    const prompt = mock([{ status: 429, times: 2, text: 'back' }], 'a');
    expect((await post(prompt)).status).toBe(429);
    expect((await post(prompt)).status).toBe(429);
    expect((await heard(prompt)).text).toBe('back');
  });

  test('hangs before the headers', async () => {
    const stop = new AbortController();
    const asked = post(mock([{ hang: 'headers' }], 'a'), stop.signal);
    expect(await server.waitForRequest(({ tag }) => tag === 'a')).toMatchObject({
      status: null,
      usage: null,
    });
    stop.abort();
    await expect(asked).rejects.toThrow('abort');
  });

  test('hangs after the headers', async () => {
    const stop = new AbortController();
    const response = await post(mock([{ hang: 'stream' }]), stop.signal);
    expect(response.status).toBe(200);
    const rest = response.text();
    stop.abort();
    await expect(rest).rejects.toThrow('abort');
  });

  test('answers what nobody can read', async () => {
    const response = await post(mock([{ garbage: true }]));
    const text = await response.text();
    expect(() => (stream ? eventsOf(text) : JSON.parse(text))).toThrow(SyntaxError);
  });

  test('says what is wrong with a directive', async () => {
    const response = await post('[[mock: [{"txet":"x"}]]]');
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('txet');
  });
});

test('parallel agents are distinguished by their tag', async () => {
  const ask = (tag: string, input: number) => {
    const prompt = mock([{ text: tag, usage: { input, output: 1 } }], tag);
    const body = JSON.stringify(CLIENTS.anthropic.body(prompt, true));
    return fetch(`${server.url}/v1/messages`, { method: 'POST', body });
  };
  await Promise.all([ask('a', 10), ask('b', 20), ask('a', 30)]);
  expect(server.usage({ tag: 'a' })).toMatchObject({ answers: 2, input: 40, output: 2 });
  expect(server.usage({ tag: 'b' })).toMatchObject({ answers: 1, input: 20 });
  expect(server.usage({ model: 'm' })).toMatchObject({ answers: 3, input: 60 });
  expect(server.usage({ model: 'other' }).answers).toBe(0);
  expect(server.first('b')?.at).toBeGreaterThan(performance.timeOrigin);
});

test('waiting for a request that does not come says what came instead', async () => {
  await fetch(`${server.url}/api/hello`, { method: 'HEAD' });
  await expect(server.waitForRequest(({ tag }) => tag === 'x', 10)).rejects.toThrow('/api/hello');
});

test.each([
  ['GET', '/', 200],
  ['HEAD', '/api/hello', 200],
  ['GET', '/v1/models', 200],
  ['POST', '/v1/messages/count_tokens', 200],
  ['POST', '/v1beta/models/m:countTokens', 200],
  ['GET', '/nowhere', 404],
])('%s %s is %i, and on record', async (method, path, status) => {
  const response = await fetch(server.url + path, { method });
  expect(response.status).toBe(status);
  expect(server.requests).toMatchObject([{ method, path, status, model: null }]);
});

test('a server with hanging requests closes', async () => {
  const body = JSON.stringify(CLIENTS.chat.body(mock([{ hang: 'headers' }], 'a'), true));
  const hanging = fetch(`${server.url}/v1/chat/completions`, { method: 'POST', body });
  const ended = expect(hanging).rejects.toThrow('fetch failed');
  await server.waitForRequest(({ tag }) => tag === 'a');
  await server.close();
  await ended;
});

function eventsOf(text: string) {
  return text
    .split('\n\n')
    .flatMap(block => block.split('\n').filter(line => line.startsWith('data: ')))
    .map(line => line.slice('data: '.length))
    .filter(data => data !== '[DONE]')
    .map(data => JSON.parse(data));
}
