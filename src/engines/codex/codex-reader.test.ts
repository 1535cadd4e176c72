import { expect, test } from 'vitest';
import { codexReader } from './codex-reader.ts';

const read = (...lines: object[]) => {
  const reader = codexReader();
  return lines.flatMap(line => reader.line(JSON.stringify(line)));
};
const done = (item: object) => ({ type: 'item.completed', item });

test('an error event is a notice, not an end', () => {
  expect(
    read({ type: 'error', message: 'Reconnecting... 1/5' }, done({ type: 'error', message: 'No metadata' })),
  ).toEqual([
    { type: 'note', text: 'Reconnecting... 1/5', retry: { code: 'ENGINE_FAILED', waitMs: null } },
    { type: 'note', text: 'No metadata' },
  ]);
});

test('a failing API is waited for, and an answer that was filtered is noted for the result', () => {
  const limited = 'Reconnecting... 1/1 (exceeded retry limit, last status: 429 Too Many Requests)';
  expect(read({ type: 'error', message: limited })).toEqual([
    { type: 'note', text: limited, retry: { code: 'ENGINE_RATE_LIMITED', waitMs: null } },
  ]);
  const filtered = 'Reconnecting... 1/1 (Incomplete response returned, reason: content_filter)';
  expect(read({ type: 'error', message: filtered })).toContainEqual(
    expect.objectContaining({ text: expect.stringContaining('content filter'), isForResult: true }),
  );
});

test('the answer is the last message before the turn is complete', () => {
  const events = read(
    done({ type: 'agent_message', text: 'Looking.' }),
    done({ type: 'agent_message', text: 'Found it.' }),
    { type: 'turn.completed', usage: {} },
  );
  expect(events.at(-1)).toEqual({ type: 'end', ok: true, answer: 'Found it.', error: null });
});

test('tools that only come when they are over begin and end', () => {
  expect(
    read(
      done({ id: '1', type: 'file_change', changes: [{ path: '/a' }, { path: '/b' }], status: 'completed' }),
      done({
        id: '2',
        type: 'mcp_tool_call',
        server: 'squad',
        tool: 'status',
        arguments: { n: 1 },
        error: { message: 'no' },
      }),
    ),
  ).toEqual([
    { type: 'tool', name: 'file_change', detail: '/a, /b', edits: true },
    { type: 'tool_end', name: 'file_change', ok: true },
    { type: 'tool', name: 'mcp__squad__status', detail: '{"n":1}' },
    { type: 'tool_end', name: 'mcp__squad__status', ok: false },
  ]);
});

test.each([
  [
    'unexpected status 401 Unauthorized: no, url: http://x',
    'ENGINE_NOT_LOGGED_IN',
    'unexpected status 401 Unauthorized: no, url: http://x',
  ],
  [
    "You've hit your usage limit. Try again later.",
    'ENGINE_RATE_LIMITED',
    "You've hit your usage limit. Try again later.",
  ],
  ['{"error":{"message":"bad model","code":"400"}}', 'ENGINE_FAILED', 'bad model'],
])('a turn that failed with %j is %s', (message, code, error) => {
  expect(read({ type: 'turn.failed', error: { message } })).toEqual([
    { type: 'end', ok: false, answer: '', error, code },
  ]);
});

test('a message that Codex prints only on stderr is the error of a turn without an end', async () => {
  const stderr = '2026-11-15T12:30:16Z ERROR rmcp: noise\nError: no rollout found for thread id 1\n';
  const file = async (name: string) => (name === 'stderr' ? stderr : null);
  expect(await codexReader().finish!({ exitCode: 1, file })).toEqual([
    {
      type: 'end',
      ok: false,
      answer: '',
      error: 'Error: no rollout found for thread id 1',
      code: 'CHAT_UNKNOWN',
    },
  ]);
  for (const exitCode of [0, 143, null]) expect(await codexReader().finish!({ exitCode, file })).toEqual([]);
});

test('the events of app-server are those of exec with other names', () => {
  const of = (method: string, params: object) => ({ method, params: { threadId: 't', ...params } });
  const shell = { type: 'commandExecution', id: '1', command: 'sh -c date', aggregatedOutput: '' };
  const total = { inputTokens: 10, outputTokens: 2, cachedInputTokens: 1 };
  const tokenUsage = { total, last: { ...total, inputTokens: 3 } };
  expect(
    read(
      { id: 'thread', result: { thread: { id: 't' }, model: 'm' } },
      of('item/started', { item: shell }),
      of('item/completed', { item: { ...shell, status: 'completed', exitCode: 1 } }),
      of('item/completed', { threadId: 'other', item: { type: 'agentMessage', text: 'Of a sub-agent.' } }),
      of('error', { error: { message: 'Reconnecting... 1/5' }, willRetry: true }),
      of('item/completed', { item: { type: 'agentMessage', text: 'Done.' } }),
      of('thread/tokenUsage/updated', { tokenUsage }),
      of('turn/completed', { turn: { id: 'a', status: 'completed' } }),
    ),
  ).toEqual([
    { type: 'chat', id: 't' },
    { type: 'model', model: 'm' },
    { type: 'tool', name: 'command_execution', detail: 'sh -c date' },
    { type: 'tool_end', name: 'command_execution', ok: false },
    { type: 'note', text: 'Reconnecting... 1/5', retry: { code: 'ENGINE_FAILED', waitMs: null } },
    { type: 'text', text: 'Done.' },
    {
      type: 'usage',
      usage: { input: 10, output: 2, cached: 1, costUsd: null, costIsEstimated: false },
      runningTotals: ['input', 'output', 'cached'],
    },
    { type: 'end', ok: true, answer: 'Done.', error: null },
  ]);
});

test.each([
  [{ id: 'thread', error: { message: 'no rollout found for thread id 1' } }, 'CHAT_UNKNOWN'],
  [{ id: 'prompt', error: { message: 'Input exceeds the maximum length' } }, 'ENGINE_FAILED'],
  [
    { method: 'turn/completed', params: { turn: { status: 'failed', error: { message: 'status 429' } } } },
    'ENGINE_RATE_LIMITED',
  ],
])('a turn of app-server that ends with %j is %s', (line, code) => {
  const opened = { id: 'thread', result: { thread: { id: 't' } } };
  const params = 'params' in line && { params: { threadId: 't', ...line.params } };
  expect(read(opened, { ...line, ...params }).at(-1)).toMatchObject({ type: 'end', ok: false, code });
});

test('an interrupted turn of app-server is no success, and the next turn has its own answer', () => {
  const of = (method: string, params: object) => ({ method, params: { threadId: 't', ...params } });
  const events = read(
    { id: 'thread', result: { thread: { id: 't' } } },
    of('item/completed', { item: { type: 'agentMessage', text: 'Half.' } }),
    of('turn/completed', { turn: { status: 'interrupted' } }),
    of('turn/started', { turn: { id: 'b' } }),
    of('turn/completed', { turn: { status: 'completed' } }),
  );
  expect(events.filter(({ type }) => type === 'end')).toEqual([
    { type: 'end', ok: false, answer: '', error: 'The turn was interrupted.' },
    { type: 'end', ok: true, answer: '', error: null },
  ]);
});
