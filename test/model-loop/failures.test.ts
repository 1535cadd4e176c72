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
  ] as const)('an error %d is reported at once, unchanged', { tags: ['E10'] }, async (status, code) => {
    await using agent = await TalkingAgent.start();
    const ask = status === 401 ? 'askProcess' : 'ask';
    const { end, exit, stdout, stderr } = await agent[ask](type, mock([{ status }]));
    expect(end).toMatchObject({ ok: false, code });
    expect(end!.error).toMatch(
      new RegExp(`^model-1 \\(${type}, ${agent.model.url}/v1\\w*\\) answered ${status}: scripted ${status}$`),
    );
    expect(exit).toBe(1);
    expect(agent.model.requests).toHaveLength(1);
    expect(stdout + stderr).not.toContain(KEY);
    expect(stderr).toBe('');
  });

  test('an overloaded provider counts as rate limited, and the error names its retry delay', async () => {
    await using agent = await TalkingAgent.start();
    const overloaded = { status: 503, message: 'The model is overloaded.', retryAfter: 3600 };
    const { end } = await agent.ask(type, mock([overloaded]));
    expect(end).toMatchObject({ ok: false, code: 'ENGINE_RATE_LIMITED' });
    expect(end!.error).toContain('answered 503: The model is overloaded.');
    expect(end!.error).toContain('(retry after 3600 s)');
    const { end: other } = await agent.ask(type, mock([{ status: 529 }]));
    expect(other).toMatchObject({ ok: false, code: 'ENGINE_RATE_LIMITED' });
  });

  test.each(['filtered', 'refused'] as const)('an answer that was %s is a failure', async stop => {
    await using agent = await TalkingAgent.start();
    const { end } = await agent.ask(type, mock([{ text: 'I cannot help with that.', stop }]));
    expect(end).toMatchObject({ ok: false, code: 'ENGINE_FAILED' });
  });

  test('an interrupted or unreadable answer is a failure', { tags: ['E10'] }, async () => {
    await using agent = await TalkingAgent.start();
    const text = 'word '.repeat(200);
    const steps: [Step, RegExp][] = [
      [{ text, cut: 'connection' }, /answered 200, but the response ended early, after .* was closed/],
      [{ text, cut: 'answer' }, /answered 200, but the response ended early, after \d/],
      [{ garbage: true }, /answered 200 with events of another API type: “.*"half": tru/],
    ];
    for (const [step, why] of steps) {
      const { end } = await agent.ask(type, mock([step]));
      expect(end).toMatchObject({ ok: false, code: 'ENGINE_FAILED', error: expect.stringMatching(why) });
      expect(end!.error).toContain(agent.model.url);
    }
    expect(agent.model.requests).toHaveLength(3);
  });

  test('an answer cut by the output token limit is a failure', async () => {
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
    { tags: ['E10'] },
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

test('stopped while a tool runs, the agent aborts the call and ends', async () => {
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
  // The stored chat can be continued: it has no call without a result.
  expect(agent.chat().messages).toHaveLength(1);
});

test('the error names a provider that Cannot reach Squad', async () => {
  await using agent = await TalkingAgent.start();
  const { end } = await agent.ask('openai', 'hello', { model: { baseUrl: 'http://127.0.0.1:9/v1' } });
  expect(end).toMatchObject({ code: 'ENGINE_FAILED', error: expect.stringContaining('127.0.0.1:9') });
  expect(end!.error).toContain('ECONNREFUSED');
});

test('a key that the provider repeats is redacted', { tags: ['E10'] }, async () => {
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

test("a key in the model's text, calls or answer is redacted", async () => {
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
  // The call itself contains the key, as the model requested.
  expect(JSON.stringify(endpoint.calls)).toContain(KEY);
});

test.each([
  {
    endsWithHub: true,
    asked: 1,
    end: { ok: false, error: expect.stringMatching(/^The agent lost its tools\. Cannot reach Squad/) },
  },
  { endsWithHub: false, asked: 2, end: { ok: true, answer: 'without it' } },
])(
  'the hub is lost during a call: endsWithHub $endsWithHub',
  { tags: ['E10'] },
  async ({ endsWithHub, asked, end }) => {
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
  },
);

test('if the tools cannot be listed, the agent ends before it asks the model', async () => {
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
  ['no request', `{"model":"${KEY}","token":"${KEY}"}`, 'missing or invalid: model, systemPrompt, inputs, '],
  ['not even an object', `"${KEY}"`, 'it is not an object'],
])(
  'a request file that is %s leads to an end line, is not quoted and is deleted',
  async (_, content, why) => {
    await using agent = await TalkingAgent.start();
    const file =
      content === null ? '/nowhere/agent-request.json' : agent.write('agent-request.json', content);
    const { end, exit, stdout } = await agent.beginWith([file], 'hello').ended;
    expect(end).toMatchObject({
      ok: false,
      error: expect.stringContaining(`Cannot read the request in ${file}: `),
    });
    expect(end!.error).toContain(why);
    expect(exit).toBe(1);
    expect(stdout).not.toContain(KEY.slice(0, 7));
    expect(existsSync(file)).toBe(false);
  },
);

test('a file that is not a request is not deleted', async () => {
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
  const { end } = await agent.askProcess(type, mock([{ call: 'look', malformed }, { text: 'done' }]), {
    endpoint,
  });
  expect(end).toMatchObject({ ok: false, code: 'ENGINE_FAILED' });
  expect(end!.error).toMatch(/answered 200 with a response that cannot be processed: Maximum call stack/);
});

test('without a request file the agent prints its help', async () => {
  await using agent = await TalkingAgent.start();
  const none = await agent.beginWith([], '').ended;
  expect(none).toMatchObject({ stdout: '', exit: 2 });
  expect(none.stderr).toContain('squad run --engine native');
  expect(await agent.beginWith(['--help'], '').ended).toMatchObject({ stdout: '', exit: 0 });
});

test('the agent ends when its reader is gone', async () => {
  await using agent = await TalkingAgent.start();
  const { child, ended } = agent.begin('anthropic', mock([{ hang: 'stream' }]));
  await agent.model.waitForRequest(() => true);
  child.stdout!.destroy();
  child.kill('SIGTERM');
  expect((await ended).exit).toBeGreaterThan(0);
});
