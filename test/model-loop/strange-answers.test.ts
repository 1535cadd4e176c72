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

/** The provider's answer, and the error that reports it: the same for every format. */
const STRANGE: Record<string, [answer: unknown[], told: RegExp]> = {
  'a page': [
    [200, { 'content-type': 'text/html; charset=utf-8' }, HTML],
    /answered 200 with text\/html instead of an event stream: “<!doctype html> <title>Sign in<\/title> x+…”\. Check the address/,
  ],
  'a page that calls itself events': [
    [200, { 'content-type': 'text/event-stream' }, HTML],
    /answered 200 with events of another API type: “<!doctype html>/,
  ],
  'no bytes': [[200, { 'content-type': 'text/event-stream' }, ''], /answered 200 with an empty body\. Check/],
  'no content': [[204, {}, ''], /answered 204 with an empty body\. Check/],
  'an error with a success': [
    json(200, { error: { message: `No deployment for ${KEY}`, code: 17 } }),
    /answered 200 with application\/json instead of an event stream: No deployment for \[secret TEST_KEY\]\./,
  ],
  'other JSON': [json(200, { hello: 'world' }), /instead of an event stream: “{"hello":"world"}”/],
  'events of nobody': [events({ hello: 'world' }), /of another API type: “(data: )?{"hello":"world"}”/],
  'events without JSON': [events('{"half": tru'), /of another API type: “(data: )?{"half": tru”/],
  'only the mark of the end': [events('[DONE]'), /of another API type: “data: \[DONE\]”/],
  'an error of nobody': [events({ error: 'boom' }), /answered 200, then sent an error: boom$/],
  'another address': [
    [302, { location: 'https://me:my-secret@example.com/login?token=abc' }, ''],
    /answered 302, a redirect to https:\/\/example\.com\/login\. Squad does not follow redirects/,
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
    '%s is reported in plain words',
    { tags: ['E10'] },
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

  test('an error in the middle of the stream is reported with its kind', { tags: ['E10'] }, async () => {
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
    /then sent an error: Come back later \(overloaded_error\)$/,
  ],
  openai: [
    { error: { message: 'You are too fast', type: 'tokens', code: 'rate_limit_exceeded' } },
    'ENGINE_RATE_LIMITED',
    /then sent an error: You are too fast \(rate_limit_exceeded\)$/,
  ],
  responses: [
    { type: 'response.failed', response: { error: { code: 'server_error', message: 'It broke' } } },
    'ENGINE_FAILED',
    /then sent an error: It broke \(server_error\)$/,
  ],
  google: [
    { error: { code: 403, message: 'Not yours', status: 'PERMISSION_DENIED' } },
    'ENGINE_NOT_LOGGED_IN',
    /then sent an error: Not yours \(PERMISSION_DENIED\)$/,
  ],
};

test('an event stream with another content type is accepted', async () => {
  await using agent = await TalkingAgent.start();
  const chunk = { id: 'a', created: 1, model: 'm', choices: [{ index: 0, delta: { content: 'hello' } }] };
  const last = { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  const [, , body] = events(chunk, last, '[DONE]');
  await using provider = await startStrangeProvider(response =>
    send(response, 200, { 'content-type': 'text/plain' }, body),
  );
  expect((await ask(agent, 'openai', provider.url)).end).toMatchObject({ ok: true, answer: 'hello' });
});

const UNREADABLE: [string, (key: string) => string][] = [
  ['in a page', key => `<h1>${'y'.repeat(100)} ${key}</h1>`],
  ['in comments', key => `: ${key}\n\n`],
  ['in the beginning of an event', key => `data: {"hello":"${key}`],
];

test.each(WIRES.flatMap(type => UNREADABLE.map(strange => [type, ...strange] as const)))(
  '%s: a key of thousands of characters that comes back %s does not come out, nor a part of it',
  { tags: ['E10'] },
  async (type, _, body) => {
    await using agent = await TalkingAgent.start();
    const key = Array.from({ length: 220 }, (_, at) => `k${at}-abcdefg`).join('.');
    await using provider = await startStrangeProvider(response =>
      send(response, 200, { 'content-type': 'text/event-stream' }, body(key)),
    );
    const { end, stdout } = await agent.ask(type, 'hello', {
      model: { baseUrl: provider.url },
      secrets: [{ name: 'TEST_KEY', value: key }],
    });
    expect(end!.error).toContain('[secret TEST_KEY]');
    expect(stdout).not.toContain('abcdefg');
  },
);

const UNENDING: [string, number, string, RegExp][] = [
  ['a refusal in JSON', 401, '{"error":{"message":"No such key"}}', /answered 401: No such key$/],
  ['a refusal in words', 403, 'Go away', /answered 403: “Go away”$/],
  [
    'an error with a success',
    200,
    '{"error":{"message":"No model"}}',
    /instead of an event stream: No model\./,
  ],
  ['a page', 200, '<h1>Sign in</h1>', /instead of an event stream: “<h1>Sign in<\/h1>”/],
];

test.each(UNENDING)(
  '%s after which the connection is left open is reported',
  { tags: ['E10'] },
  async (_, status, body, told) => {
    await using agent = await TalkingAgent.start();
    await using provider = await startStrangeProvider(response => {
      response.writeHead(status, { 'content-type': 'application/json' }).write(body);
    });
    const { end } = await ask(agent, 'openai', provider.url);
    expect(end).toMatchObject({ ok: false, error: expect.stringMatching(told) });
    await provider.left;
  },
);

test('an event stream with another content type is accepted byte by byte', async () => {
  await using agent = await TalkingAgent.start();
  const last = { index: 0, delta: { content: 'slowly' }, finish_reason: 'stop' };
  const [, , body] = events({ id: 'a', created: 1, model: 'm', choices: [last] }, '[DONE]');
  await using provider = await startStrangeProvider(async response => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    for (const letter of `\n${body}`)
      await new Promise<void>(sent => response.write(letter, () => setImmediate(sent)));
    response.end();
  });
  expect((await ask(agent, 'openai', provider.url)).end).toMatchObject({ ok: true, answer: 'slowly' });
});

test('secrets in the address are not reported', async () => {
  await using agent = await TalkingAgent.start();
  await using provider = await startStrangeProvider(response => send(response, 500, {}, 'no'));
  const { host } = new URL(provider.url);
  const { end } = await ask(agent, 'openai', `http://me:my-secret@${host}/v1`);
  expect(end!.error).toBe(`model-1 (openai, http://${host}/v1) answered 500: “no”`);
});

const QUERY = 'api-version=2025-01&k=a%20value';
const ASKED: Record<ModelType, string> = {
  anthropic: `/v1/messages?${QUERY}`,
  openai: `/v1/chat/completions?${QUERY}`,
  responses: `/v1/responses?${QUERY}`,
  google: `/v1/models/model-1:streamGenerateContent?${QUERY}&alt=sse`,
};

test.each(WIRES)(
  '%s: a query in its address goes along with every request, and is not told',
  { tags: ['E3'] },
  async type => {
    await using agent = await TalkingAgent.start();
    let asked: string | undefined;
    await using provider = await startStrangeProvider(response => {
      asked = response.req.url;
      send(response, 500, {}, 'no');
    });
    const { end, stdout } = await ask(agent, type, `${provider.url}/v1/?${QUERY}#top`);
    expect(asked).toBe(ASKED[type]);
    expect(end!.error).toBe(`model-1 (${type}, ${provider.url}/v1) answered 500: “no”`);
    expect(stdout).not.toMatch(/2025-01|value/);
  },
);

const ask = (agent: TalkingAgent, type: ModelType, baseUrl: string) =>
  agent.ask(type, 'hello', { model: { baseUrl } });

function send(response: ServerResponse, ...[status, headers, body]: unknown[]): void {
  response.writeHead(status as number, headers as Record<string, string>).end(body);
}
