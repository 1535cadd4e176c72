import { expect, test } from 'vitest';
import { type AcpDialect, acpReader } from './acp-reader.ts';

const read = (...lines: object[]) => {
  const reader = acpReader();
  return lines.flatMap(line => reader.line(JSON.stringify(line)));
};
const OPENED = { id: 'session', result: { sessionId: 's', models: { currentModelId: 'm' } } };
const update = (sessionUpdate: string, more: object) => ({
  method: 'session/update',
  params: { update: { sessionUpdate, ...more } },
});
const says = (text: string) => update('agent_message_chunk', { content: { type: 'text', text } });

test('a turn with a tool call', () => {
  const call = { toolCallId: 'c', title: 'Edit a', kind: 'edit' };
  const quota = { token_count: { input_tokens: 10, output_tokens: 2 } };
  expect(
    read(
      says('Of an earlier turn.'),
      OPENED,
      says('Looking.'),
      update('tool_call', { ...call, status: 'pending' }),
      update('tool_call_update', { ...call, status: 'completed' }),
      says('Do'),
      says('ne.'),
      { id: 'prompt', result: { stopReason: 'end_turn', _meta: { quota } } },
    ),
  ).toEqual([
    { type: 'chat', id: 's' },
    { type: 'model', model: 'm' },
    { type: 'text', text: 'Looking.' },
    { type: 'tool', name: 'edit', detail: 'Edit a', edits: true },
    { type: 'tool_end', name: 'edit', ok: true },
    { type: 'text', text: 'Done.' },
    {
      type: 'usage',
      usage: { input: 10, output: 2, cached: null, costUsd: null, costIsEstimated: false },
    },
    { type: 'end', ok: true, answer: 'Done.', error: null },
  ]);
});

test('a tool that is reported only when the agent asks for it, or when it is over', () => {
  const toolCall = { toolCallId: 'c', title: 'sh job.sh', kind: 'execute' };
  expect(
    read(
      OPENED,
      { id: 0, method: 'session/request_permission', params: { toolCall } },
      update('tool_call_update', { toolCallId: 'c', status: 'failed' }),
    ).slice(2),
  ).toEqual([
    { type: 'tool', name: 'execute', detail: 'sh job.sh' },
    { type: 'tool_end', name: 'execute', ok: false },
  ]);
});

test.each([
  [{ id: 'prompt', result: { stopReason: 'cancelled' } }, 'The turn was interrupted.'],
  [{ id: 'prompt', result: { stopReason: 'max_tokens' } }, 'limit of output tokens'],
  [{ id: 'prompt', error: { message: 'Internal error', data: { details: 'status 429' } } }, 'status 429'],
  [{ id: 'session', error: { message: 'no' } }, 'no'],
])('%j is no success', (line, error) => {
  expect(read(OPENED, line).at(-1)).toMatchObject({
    ...{ type: 'end', ok: false, error: expect.stringContaining(error) },
  });
});

test('a message that joined the running prompt has the same answer', () => {
  const over = (id: string) => ({ id, result: { stopReason: 'end_turn' } });
  const ends = read(OPENED, says('One.'), over('prompt'), over('m')).filter(({ type }) => type === 'end');
  expect(ends).toMatchObject([{ answer: 'One.' }]);
});

test('usage as each CLI reports it', () => {
  const usageOf = (dialect: AcpDialect, ...lines: object[]) => {
    const reader = acpReader(dialect);
    const events = [OPENED, ...lines].flatMap(line => reader.line(JSON.stringify(line)));
    return events.findLast(({ type }) => type === 'usage');
  };
  const over = (id: string, inputTokens: number) => ({
    id,
    result: { stopReason: 'end_turn', usage: { inputTokens, outputTokens: 2, cachedReadTokens: 1 } },
  });
  const cost = update('usage_update', { used: 9, cost: { amount: 0.5, currency: 'USD' } });
  const unknown = { input: null, output: null, cached: null, costUsd: null, costIsEstimated: false };
  const lines = [over('prompt', 10), cost, over('m', 30)];
  expect(usageOf({ usage: 'process' }, ...lines)).toEqual({
    ...{ type: 'usage', usage: { ...unknown, input: 30, output: 2, cached: 1 } },
  });
  expect(usageOf({ usage: 'chat_cost' }, ...lines)).toEqual({
    ...{ type: 'usage', usage: { ...unknown, costUsd: 0.5 }, runningTotals: ['costUsd'] },
  });
  expect(usageOf({}, ...lines)).toBeUndefined();
});

test('messages of the program are not part of the answer, and a missing login is reported as one', () => {
  const reader = acpReader({ notes: /^Info: / });
  const lines = [OPENED, says('Info: Disabled tools: a'), says('Done.')];
  const over = { id: 'prompt', result: { stopReason: 'end_turn' } };
  const events = [...lines, over].flatMap(line => reader.line(JSON.stringify(line)));
  expect(events.at(-1)).toMatchObject({ type: 'end', answer: 'Done.' });
  expect(read({ id: 'session', error: { code: -32000, message: 'No.' } }).at(-1)).toMatchObject({
    code: 'ENGINE_NOT_LOGGED_IN',
  });
});

test('messages of a loaded chat that come late are not part of the answer', () => {
  const reader = acpReader({ repeatsLate: true });
  const old = [update('user_message_chunk', {}), says('Old.')];
  const commands = update('available_commands_update', { availableCommands: [] });
  const over = { id: 'prompt', result: { stopReason: 'end_turn' } };
  const events = [...old, OPENED, ...old, commands, says('New.'), over].flatMap(line =>
    reader.line(JSON.stringify(line)),
  );
  expect(events.at(-1)).toMatchObject({ type: 'end', answer: 'New.' });
});

test('each prompt has its own answer', () => {
  const over = (id: string) => ({ id, result: { stopReason: 'end_turn' } });
  const ends = read(OPENED, says('One.'), over('prompt'), says('Two.'), over('m')).filter(
    ({ type }) => type === 'end',
  );
  expect(ends).toMatchObject([{ answer: 'One.' }, { answer: 'Two.' }]);
});
