import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { mock, type Step } from '../engines/model-server/script.ts';
import { KEY, TalkingAgent, WIRES } from './talking-agent.ts';
import { said, startToolEndpoint } from './tool-endpoint.ts';

describe.each(WIRES)('%s', type => {
  test.each([
    [401, 'ENGINE_NOT_LOGGED_IN'],
    [403, 'ENGINE_NOT_LOGGED_IN'],
    [429, 'ENGINE_RATE_LIMITED'],
    [500, 'ENGINE_FAILED'],
  ] as const)('a refusal with %d is passed on as it is, at once', async (status, code) => {
    await using agent = await TalkingAgent.start();
    const { end, exit, stdout, stderr } = await agent.ask(type, mock([{ status }]));
    expect(end).toMatchObject({ ok: false, code });
    expect(end!.error).toMatch(
      new RegExp(`^model-1 \\(${type}, ${agent.model.url}/v1\\w*\\) answered ${status}: scripted ${status}$`),
    );
    expect(exit).toBe(1);
    expect(agent.model.requests).toHaveLength(1);
    expect(stdout + stderr).not.toContain(KEY);
    expect(stderr).toBe('');
  });

  test('an overloaded provider is one that limits, and how long it asks to wait is said', async () => {
    await using agent = await TalkingAgent.start();
    const overloaded = { status: 503, message: 'The model is overloaded.', retryAfter: 3600 };
    const { end } = await agent.ask(type, mock([overloaded]));
    expect(end).toMatchObject({ ok: false, code: 'ENGINE_RATE_LIMITED' });
    expect(end!.error).toContain('answered 503: The model is overloaded.');
    expect(end!.error).toContain('(it asks to wait 3600 s before the next try)');
    const { end: other } = await agent.ask(type, mock([{ status: 529 }]));
    expect(other).toMatchObject({ ok: false, code: 'ENGINE_RATE_LIMITED' });
  });

  test.each(['filtered', 'refused'] as const)(
    'an answer that was %s is not passed off as one',
    async stop => {
      await using agent = await TalkingAgent.start();
      const { end } = await agent.ask(type, mock([{ text: 'I cannot help with that.', stop }]));
      expect(end).toMatchObject({ ok: false, code: 'ENGINE_FAILED' });
    },
  );

  test('an answer that breaks off, and one that nobody can read, are no answers', async () => {
    await using agent = await TalkingAgent.start();
    const text = 'word '.repeat(200);
    const steps: [Step, RegExp][] = [
      [
        { text, cut: 'connection' },
        /answered 200 and broke off before the end of its answer, after .* was closed/,
      ],
      [{ text, cut: 'answer' }, /answered 200 and broke off before the end of its answer, after \d/],
      [{ garbage: true }, /answered 200 with events that are not of its type: “.*"half": tru/],
    ];
    for (const [step, why] of steps) {
      const { end } = await agent.ask(type, mock([step]));
      expect(end).toMatchObject({ ok: false, code: 'ENGINE_FAILED', error: expect.stringMatching(why) });
      expect(end!.error).toContain(agent.model.url);
    }
    expect(agent.model.requests).toHaveLength(3);
  });

  test('an answer that its limit cut off is not passed off as one', async () => {
    await using agent = await TalkingAgent.start();
    const { end } = await agent.ask(type, mock([{ text: 'In short, the ans', stop: 'full' }]));
    expect(end).toMatchObject({
      ok: false,
      code: 'ENGINE_FAILED',
      error: expect.stringContaining('max_output'),
    });
  });

  test.each(['headers', 'stream'] as const)(
    'told to stop while the model is silent (%s), it stops',
    async hang => {
      await using agent = await TalkingAgent.start();
      const { child, ended } = agent.begin(type, mock([{ hang }]));
      await agent.model.waitForRequest(() => true);
      child.kill('SIGTERM');
      const { end, exit } = await ended;
      expect(end).toMatchObject({ ok: false, error: 'Stopped by SIGTERM' });
      expect(exit).toBe(143);
    },
  );
});

test('told to stop while a tool works, it gives the call up and stops', async () => {
  await using agent = await TalkingAgent.start();
  let called: (() => void) | undefined;
  const calling = new Promise<void>(resolve => {
    called = resolve;
  });
  await using endpoint = await startToolEndpoint([{ name: 'slow', answer: () => void called!() }]);
  const { child, ended } = agent.begin('anthropic', mock([{ call: 'slow' }]), { endpoint });
  await calling;
  child.kill('SIGINT');
  const { end, exit } = await ended;
  expect(end).toMatchObject({ ok: false, error: 'Stopped by SIGINT' });
  expect(exit).toBe(143);
  await expect.poll(() => endpoint.dropped).toEqual(['slow']);
  // What is on disk can be gone on with: no call without its answer.
  expect(agent.chat().messages).toHaveLength(1);
});

test('a provider that is not there is named', async () => {
  await using agent = await TalkingAgent.start();
  const { end } = await agent.ask('openai', 'hello', { model: { baseUrl: 'http://127.0.0.1:9/v1' } });
  expect(end).toMatchObject({ code: 'ENGINE_FAILED', error: expect.stringContaining('127.0.0.1:9') });
  expect(end!.error).toContain('ECONNREFUSED');
});

test('a key that the provider repeats does not come out', async () => {
  await using agent = await TalkingAgent.start();
  const server = createServer(({ headers }, response) => {
    response.writeHead(401, { 'content-type': 'application/json' });
    const message = `The key ${headers['x-api-key']} is not known`;
    response.end(JSON.stringify({ type: 'error', error: { type: 'authentication_error', message } }));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { end, stdout } = await agent.ask('anthropic', 'hello', { model: { baseUrl } });
  expect(end).toMatchObject({
    code: 'ENGINE_NOT_LOGGED_IN',
    error: expect.stringContaining('[secret TEST_KEY] is not known'),
  });
  expect(stdout).not.toContain(KEY);
});

test('nor does one that the model says, calls with or answers with', async () => {
  await using agent = await TalkingAgent.start();
  await using endpoint = await startToolEndpoint([{ name: 'say', answer: () => said('said') }]);
  const spelt = [KEY, encodeURIComponent(KEY), Buffer.from(`so: ${KEY}`).toString('base64')];
  const { end, messages, stdout } = await agent.ask(
    'anthropic',
    mock([
      { text: `The key is ${KEY}`, call: 'say', arguments: { words: spelt, long: 'x'.repeat(150) + KEY } },
      { call: 'final_answer', arguments: { words: spelt.join(' ') } },
    ]),
    {
      outputSchema: { type: 'object', properties: { words: { type: 'string' } } },
      endpoint: { url: endpoint.url, token: endpoint.token },
    },
  );
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool']);
  expect(JSON.stringify(end!.structured)).toContain('[secret TEST_KEY]');
  expect(stdout).not.toContain(KEY.slice(0, 12));
  expect(stdout).not.toContain(Buffer.from(KEY).toString('base64').slice(4, 24));
  // What is called is called as the model wants it.
  expect(JSON.stringify(endpoint.calls)).toContain(KEY);
});

test.each([
  {
    endsWithHub: true,
    asked: 1,
    end: { ok: false, error: expect.stringMatching(/^Its tools are gone\. Squad cannot be reached/) },
  },
  { endsWithHub: false, asked: 2, end: { ok: true, answer: 'without it' } },
])('a hub that is lost in a call: ends with it $endsWithHub', async ({ endsWithHub, asked, end }) => {
  await using agent = await TalkingAgent.start();
  await using endpoint = await startToolEndpoint([
    { name: 'lose', answer: (_, response) => void response.destroy() },
  ]);
  const { url, token } = endpoint;
  const told = await agent.ask('anthropic', mock([{ call: 'lose' }, { text: 'without it' }]), {
    endpoint: { url, token },
    endsWithHub,
  });
  expect(told.end).toMatchObject(end);
  expect(agent.model.requests).toHaveLength(asked);
});

test('tools that cannot be listed end it before the model is asked', async () => {
  await using agent = await TalkingAgent.start();
  await using endpoint = await startToolEndpoint([{ name: 'x', answer: () => said('') }]);
  const { end } = await agent.ask('anthropic', 'hello', {
    endpoint: { url: endpoint.url, token: 'another' },
  });
  expect(end).toMatchObject({
    code: 'ENGINE_FAILED',
    error: expect.stringContaining('This access has ended'),
  });
  expect(agent.model.requests).toEqual([]);
});

test.each([
  ['nowhere', null, 'ENOENT'],
  ['no JSON', `${KEY} {"token":`, 'it is not JSON'],
  ['no request', `{"model":"${KEY}","token":"${KEY}"}`, 'it has no right model, systemPrompt, inputs, '],
  ['not even an object', `"${KEY}"`, 'it is not an object'],
])('a request file that is %s still has an end, and is neither quoted nor left', async (_, content, why) => {
  await using agent = await TalkingAgent.start();
  const file = content === null ? '/nowhere/agent-request.json' : agent.write('agent-request.json', content);
  const { end, exit, stdout } = await agent.beginWith([file], 'hello').ended;
  expect(end).toMatchObject({ ok: false, error: expect.stringContaining(`${file} cannot be read: `) });
  expect(end!.error).toContain(why);
  expect(exit).toBe(1);
  expect(stdout).not.toContain(KEY.slice(0, 7));
  expect(existsSync(file)).toBe(false);
});

test('a file of somebody else that it is given by mistake is left alone', async () => {
  await using agent = await TalkingAgent.start();
  const file = agent.write('package.json', '{"name":"mine"}');
  expect((await agent.beginWith([file], 'hello').ended).exit).toBe(1);
  expect(existsSync(file)).toBe(true);
});

test.each(WIRES)('%s: arguments too deep for anybody are not told as events of another type', async type => {
  await using agent = await TalkingAgent.start();
  const depth = 20_000;
  const malformed = `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  await using endpoint = await startToolEndpoint([{ name: 'look', answer: () => said('seen') }]);
  const { end } = await agent.ask(type, mock([{ call: 'look', malformed }, { text: 'done' }]), { endpoint });
  expect(end).toMatchObject({ ok: false, code: 'ENGINE_FAILED' });
  expect(end!.error).toMatch(/answered 200 with what cannot be taken in: Maximum call stack/);
});

test('without a request file it says what it is for', async () => {
  await using agent = await TalkingAgent.start();
  const none = await agent.beginWith([], '').ended;
  expect(none).toMatchObject({ stdout: '', exit: 2 });
  expect(none.stderr).toContain('squad run --engine native');
  expect(await agent.beginWith(['--help'], '').ended).toMatchObject({ stdout: '', exit: 0 });
});

test('whoever read its lines is gone: it ends', async () => {
  await using agent = await TalkingAgent.start();
  const { child, ended } = agent.begin('anthropic', mock([{ hang: 'stream' }]));
  await agent.model.waitForRequest(() => true);
  child.stdout!.destroy();
  child.kill('SIGTERM');
  expect((await ended).exit).toBeGreaterThan(0);
});
