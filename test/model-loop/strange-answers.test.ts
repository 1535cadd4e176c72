import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import type { ModelType } from '../../src/schema/model-spec.ts';
import { startStrangeProvider } from './strange-provider.ts';
import { KEY, TalkingAgent, WIRES } from './talking-agent.ts';

const events = (...data: unknown[]) => [
  200,
  { 'content-type': 'text/event-stream' },
  data.map(event => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join(''),
];
const json = (status: number, value: unknown) => [
  status,
  { 'content-type': 'application/json' },
  JSON.stringify(value),
];
const HTML = `<!doctype html>\n<title>Sign in</title>\n  ${'x'.repeat(5000)}`;

/** What comes back, and how it is told: the same for every format. */
const STRANGE: Record<string, [answer: unknown[], told: RegExp]> = {
  'a page': [
    [200, { 'content-type': 'text/html; charset=utf-8' }, HTML],
    /answered 200 with text\/html and no stream of events: “<!doctype html> <title>Sign in<\/title> x+…”\. Look at the address/,
  ],
  'a page that calls itself events': [
    [200, { 'content-type': 'text/event-stream' }, HTML],
    /answered 200 with events that are not of its type: “<!doctype html>/,
  ],
  'no bytes': [[200, { 'content-type': 'text/event-stream' }, ''], /answered 200 with nothing\. Look at/],
  'no content': [[204, {}, ''], /answered 204 with nothing\. Look at/],
  'an error with a success': [
    json(200, { error: { message: `No deployment for ${KEY}`, code: 17 } }),
    /answered 200 with application\/json and no stream of events: No deployment for \[secret TEST_KEY\]\./,
  ],
  'other JSON': [json(200, { hello: 'world' }), /no stream of events: “{"hello":"world"}”/],
  'events of nobody': [events({ hello: 'world' }), /not of its type: “(data: )?{"hello":"world"}”/],
  'events without JSON': [events('{"half": tru'), /not of its type: “(data: )?{"half": tru”/],
  'only the mark of the end': [events('[DONE]'), /not of its type: “data: \[DONE\]”/],
  'an error of nobody': [events({ error: 'boom' }), /answered 200, and ended with an error: boom$/],
  'another address': [
    [302, { location: 'https://me:my-secret@example.com/login?token=abc' }, ''],
    /answered 302 and points to https:\/\/example\.com\/login\. Squad does not follow it/,
  ],
  'an endless word': [
    json(500, { error: { message: 'x'.repeat(20_000_000) } }),
    /answered 500: “{"error":{"message":"x{200,300}…”$/,
  ],
  'a page of a proxy': [
    [502, { 'content-type': 'text/html' }, '<h1>Bad\n gateway</h1>'],
    /answered 502: “<h1>Bad gateway<\/h1>”$/,
  ],
  'a bare status': [[503, {}, ''], /answered 503: Service Unavailable$/],
};

describe.each(WIRES)('%s', type => {
  test.each(Object.entries(STRANGE))(
    '%s is told in plain words',
    async (_, [[status, headers, body], told]) => {
      await using agent = await TalkingAgent.start();
      await using provider = await startStrangeProvider(response => send(response, status, headers, body));
      const { end, exit, stdout, stderr } = await ask(agent, type, provider.url);
      expect(end).toMatchObject({ ok: false, code: 'ENGINE_FAILED', error: expect.stringMatching(told) });
      expect(end!.error).toContain(`model-1 (${type}, ${provider.url}/v1`);
      expect(end!.error).not.toMatch(/AI_|SDK|normalized|Failed to process|No output|me:|my-|token=/);
      expect({ exit, stderr }).toEqual({ exit: 1, stderr: '' });
      expect(stdout).not.toContain(KEY);
    },
  );

  test('an error in the middle of the stream is told with its kind', async () => {
    await using agent = await TalkingAgent.start();
    const [frame, code, told] = ERRORS[type];
    await using provider = await startStrangeProvider(response => send(response, ...events(frame)));
    const { end } = await ask(agent, type, provider.url);
    expect(end).toMatchObject({ ok: false, code, error: expect.stringMatching(told) });
  });
});

const ERRORS: Record<ModelType, [frame: unknown, code: string, told: RegExp]> = {
  anthropic: [
    { type: 'error', error: { type: 'overloaded_error', message: 'Come back later' } },
    'ENGINE_RATE_LIMITED',
    /ended with an error: Come back later \(overloaded_error\)$/,
  ],
  openai: [
    { error: { message: 'You are too fast', type: 'tokens', code: 'rate_limit_exceeded' } },
    'ENGINE_RATE_LIMITED',
    /ended with an error: You are too fast \(rate_limit_exceeded\)$/,
  ],
  responses: [
    { type: 'response.failed', response: { error: { code: 'server_error', message: 'It broke' } } },
    'ENGINE_FAILED',
    /ended with an error: It broke \(server_error\)$/,
  ],
  google: [
    { error: { code: 403, message: 'Not yours', status: 'PERMISSION_DENIED' } },
    'ENGINE_NOT_LOGGED_IN',
    /ended with an error: Not yours \(PERMISSION_DENIED\)$/,
  ],
};

test('events that call themselves something else are an answer all the same', async () => {
  await using agent = await TalkingAgent.start();
  const chunk = { id: 'a', created: 1, model: 'm', choices: [{ index: 0, delta: { content: 'hello' } }] };
  const last = { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  const [, , body] = events(chunk, last, '[DONE]');
  await using provider = await startStrangeProvider(response =>
    send(response, 200, { 'content-type': 'text/plain' }, body),
  );
  expect((await ask(agent, 'openai', provider.url)).end).toMatchObject({ ok: true, answer: 'hello' });
});

test('what is in its address and nobody should see is not told', async () => {
  await using agent = await TalkingAgent.start();
  await using provider = await startStrangeProvider(response => send(response, 500, {}, 'no'));
  const { host } = new URL(provider.url);
  const { end } = await ask(agent, 'openai', `http://me:my-secret@${host}/v1`);
  expect(end!.error).toBe(`model-1 (openai, http://${host}/v1) answered 500: “no”`);
});

const ask = (agent: TalkingAgent, type: ModelType, baseUrl: string) =>
  agent.ask(type, 'hello', { model: { baseUrl } });

function send(response: ServerResponse, ...[status, headers, body]: unknown[]): void {
  response.writeHead(status as number, headers as Record<string, string>).end(body);
}
