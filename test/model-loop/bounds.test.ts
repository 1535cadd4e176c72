import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { MAX_AGENT_LINE_LENGTH } from '../../src/schema/agent-protocol.ts';
import { mock } from '../engines/model-server/script.ts';
import { type StrangeProvider, startStrangeProvider, writeForEver } from './strange-provider.ts';
import { TalkingAgent, WIRES } from './talking-agent.ts';
import { said, startToolEndpoint } from './tool-endpoint.ts';

const MIB = 1024 * 1024;
/** Bytes that may still be in transit when a connection is closed. */
const UNDER_WAY = 16 * MIB;
const EVENTS = { 'content-type': 'text/event-stream' };
const begin = (response: ServerResponse, status: number, headers: Record<string, string>, text = '') => {
  response.writeHead(status, headers);
  response.write(text);
  return response;
};

const delta = (text: string) =>
  `event: content_block_delta\ndata: ${JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })}\n\n`;
const USED = { input_tokens: 1, output_tokens: 1 };
const STARTED = [
  { type: 'message_start', message: { id: 'm', model: 'm', role: 'assistant', content: [], usage: USED } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
]
  .map(event => `data: ${JSON.stringify(event)}\n\n`)
  .join('');

const ENDLESS: [string, string, RegExp, number, (r: ServerResponse, p: StrangeProvider) => unknown][] = [
  [
    'a refusal',
    'ENGINE_FAILED',
    /answered 500: “x{300}…”$/,
    0,
    (response, provider) => writeForEver(begin(response, 500, {}), provider, 'x'.repeat(64 * 1024)),
  ],
  [
    'a page',
    'ENGINE_FAILED',
    /answered 200 with text\/html instead of an event stream/,
    0,
    (response, provider) =>
      writeForEver(begin(response, 200, { 'content-type': 'text/html' }), provider, '<p>'.repeat(20_000)),
  ],
  [
    'a line',
    'OUTPUT_LIMIT',
    /an event of more than 8\.0 MiB, which is the limit/,
    8 * MIB,
    (response, provider) =>
      writeForEver(begin(response, 200, EVENTS, 'data: "'), provider, 'x'.repeat(64 * 1024)),
  ],
  [
    'an event of many lines',
    'OUTPUT_LIMIT',
    /an event of more than 8\.0 MiB, which is the limit/,
    8 * MIB,
    (response, provider) =>
      writeForEver(begin(response, 200, EVENTS), provider, 'data: 12345678\r\n'.repeat(4_000)),
  ],
  [
    'a row of comments',
    'OUTPUT_LIMIT',
    /more than 250,000 events, which is the limit/,
    250_000 * 8,
    (response, provider) => writeForEver(begin(response, 200, EVENTS), provider, ': ping\n\n'.repeat(8_000)),
  ],
  [
    'an answer',
    'OUTPUT_LIMIT',
    /longer than the limit of 4\.0 MiB\. Ask for less/,
    4 * MIB,
    (response, provider) =>
      writeForEver(begin(response, 200, EVENTS, STARTED), provider, delta('word '.repeat(10_000))),
  ],
];

test.each(ENDLESS)(
  '%s that does not end is stopped',
  { tags: ['E10'] },
  async (_, code, told, most, answer) => {
    await using agent = await TalkingAgent.start();
    await using provider = await startStrangeProvider(answer);
    const { end } = await agent.askProcess('anthropic', 'hello', { model: { baseUrl: provider.url } });
    expect(end).toMatchObject({ ok: false, code, error: expect.stringMatching(told) });
    await provider.left;
    expect(provider.sent).toBeLessThan(most + UNDER_WAY);
  },
);

const longestLine = (stdout: string): number =>
  Math.max(...stdout.split('\n').map(line => Buffer.byteLength(line)));

test('a prompt longer than a line reaches the model whole and is cut in the conversation', async () => {
  await using agent = await TalkingAgent.start();
  const prompt = `${'words "and" ö\n'.repeat(850_000)}${mock([{ text: 'read' }])}`;
  const { end, messages, stdout } = await agent.askProcess('openai', prompt);
  expect(end).toMatchObject({ ok: true, answer: 'read' });
  expect(agent.model.requests[0]!.prompt).toBe(prompt);
  expect(longestLine(stdout)).toBeLessThanOrEqual(MAX_AGENT_LINE_LENGTH);
  const [part] = messages[0]!.content;
  if (part?.type !== 'text') throw new Error('It is a text');
  const [, kept, all] = /\[(\d+) of (\d+) bytes kept\]$/.exec(part.text)!;
  expect(Number(all)).toBe(Buffer.byteLength(prompt));
  expect(Number(kept)).toBeGreaterThan(6 * MIB);
  expect(prompt.startsWith(part.text.slice(0, part.text.lastIndexOf('\n[')))).toBe(true);
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
});

test('a tool result longer than a line is cut only in the conversation', async () => {
  await using agent = await TalkingAgent.start();
  const long = 'y'.repeat(9 * MIB);
  await using endpoint = await startToolEndpoint([
    { name: 'long', answer: () => ({ ...said(long), structuredContent: { long } }) },
    { name: 'short', answer: () => said('brief') },
  ]);
  const steps = mock([{ calls: [{ call: 'long' }, { call: 'short' }] }, { text: 'done' }]);
  const { messages, stdout, end } = await agent.ask('anthropic', steps, { endpoint });
  expect(end).toMatchObject({ ok: true });
  expect(longestLine(stdout)).toBeLessThanOrEqual(MAX_AGENT_LINE_LENGTH);
  const results = messages[2]!.content.filter(part => part.type === 'tool_result');
  expect(results.map(({ name }) => name)).toEqual(['long', 'short']);
  expect(results[0]!.output).toMatch(/^{"long":"y+\n\[\d+ of 9437195 bytes kept\]$/);
  expect(results[1]!.output).toBe('brief');
  expect(agent.model.requests[1]!.toolResults[0]!.length).toBeGreaterThanOrEqual(long.length);
});

test.each(WIRES)(
  '%s: an answer of almost the limit arrives whole, one above it is refused by name',
  { tags: ['E10'] },
  async type => {
    await using agent = await TalkingAgent.start();
    const whole = await agent.askProcess(type, mock([{ bytes: 4 * MIB - 1000 }]));
    expect(whole.end).toMatchObject({ ok: true, error: null });
    expect(Buffer.byteLength(whole.end!.answer)).toBe(4 * MIB - 1000);
    expect(longestLine(whole.stdout)).toBeLessThanOrEqual(MAX_AGENT_LINE_LENGTH);
    const above = await agent.ask(type, mock([{ bytes: 4 * MIB + 1000 }]));
    expect(above.end).toMatchObject({
      ok: false,
      code: 'OUTPUT_LIMIT',
      error: expect.stringContaining('longer than the limit of 4.0 MiB. Ask for less'),
    });
  },
);

test('an answer that does not fit into a line is refused, not cut', async () => {
  await using agent = await TalkingAgent.start();
  // Each takes six bytes in JSON.
  const { end, exit, stdout } = await agent.ask('google', mock([{ text: '\u0001'.repeat(2 * MIB) }]));
  expect(end).toMatchObject({
    ok: false,
    answer: '',
    code: 'OUTPUT_LIMIT',
    error: expect.stringMatching(/it takes 12\.0 MiB as JSON, and the limit is 8\.0 MiB\. Ask for less/),
  });
  expect(exit).toBe(1);
  expect(longestLine(stdout)).toBeLessThanOrEqual(MAX_AGENT_LINE_LENGTH);
});

test('an answer that is too long after redaction is refused, also by exit code', async () => {
  await using agent = await TalkingAgent.start();
  // Each is a thousand bytes then.
  const secrets = [{ name: 'N'.repeat(1000), value: 'abcdef' }];
  const steps = mock([{ text: 'abcdef '.repeat(9_000) }]);
  const { end, exit, stdout } = await agent.ask('google', steps, { secrets });
  expect(end).toMatchObject({ ok: false, answer: '', code: 'OUTPUT_LIMIT' });
  expect(exit).toBe(1);
  expect(longestLine(stdout)).toBeLessThanOrEqual(MAX_AGENT_LINE_LENGTH);
});

test('a chat file is appended to, and a line that was being written at a kill is dropped', async () => {
  await using agent = await TalkingAgent.start();
  await agent.ask('anthropic', `First ${mock([{ text: 'one' }])}`);
  const before = readFileSync(agent.chatFile, 'utf8');
  writeFileSync(agent.chatFile, `${before}{"last":"msg_x","mess`);
  const { end } = await agent.ask('anthropic', `Second ${mock([{ text: 'two' }])}`, { continues: true });
  expect(end).toMatchObject({ ok: true, answer: 'two' });
  const after = readFileSync(agent.chatFile, 'utf8');
  expect(after.startsWith(before)).toBe(true);
  expect(agent.chat().messages).toHaveLength(4);
  expect(agent.model.requests[1]!.turns.map(({ by }) => by)).toEqual(['user', 'model', 'user']);
});
