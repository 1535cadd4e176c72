import { describe, expect, test } from 'vitest';
import { claudeReader } from './claude-reader.ts';

const read = (...lines: object[]) => {
  const reader = claudeReader();
  return lines.flatMap(line => reader.line(JSON.stringify(line)));
};
const message = (id: string, content: object[], usage?: object) => ({
  type: 'assistant',
  message: { id, model: 'claude-x', content, usage },
});
const usageOf = (events: ReturnType<typeof read>) => events.findLast(event => event.type === 'usage')?.usage;

describe('usage', () => {
  const usage = {
    input_tokens: 60,
    cache_read_input_tokens: 40,
    cache_creation_input_tokens: 5,
    output_tokens: 1,
  };

  test('any number of messages is counted, each once, also when they take turns', () => {
    const ids = Array.from({ length: 300 }, (_, index) => `m${index}`);
    const twice = ids.flatMap((id, index) => [id, ids[Math.max(0, index - 5)]!]);
    const events = read(...twice.map(id => message(id, [], usage)));
    expect(usageOf(events)).toMatchObject({ input: 300 * 105, cached: 300 * 40 });
  });

  test('a message that comes in several lines counts once, its output not before it is known', () => {
    const events = read(
      message('m1', [{ type: 'text', text: 'a' }], usage),
      message('m1', [{ type: 'tool_use', id: 't', name: 'Read', input: {} }], usage),
      message('m2', [{ type: 'text', text: 'b' }], usage),
    );
    expect(usageOf(events)).toEqual({
      input: 210,
      output: null,
      cached: 80,
      costUsd: null,
      costIsEstimated: false,
    });
  });

  test("the result wins, with sub-agents and helpers, and with this turn's part of the money", () => {
    const model = {
      inputTokens: 10,
      cacheReadInputTokens: 2,
      cacheCreationInputTokens: 1,
      outputTokens: 3,
      costUSD: 0.5,
    };
    const events = read(message('m1', [], usage), {
      type: 'result',
      is_error: false,
      result: 'x',
      usage: { input_tokens: 10, output_tokens: 3 },
      total_cost_usd: 9,
      modelUsage: { big: { ...model, costUSD: 9 } },
      model_usage_since_last_result: { big: model, small: model },
    });
    expect(usageOf(events)).toMatchObject({ input: 26, output: 6, cached: 4, costUsd: 1 });
    expect(events.findLast(event => event.type === 'usage')).not.toHaveProperty('runningTotals');
  });

  test('a turn that used nothing is not counted as the whole chat', () => {
    const model = { inputTokens: 7000, outputTokens: 30, costUSD: 0.5 };
    const line = { type: 'result', is_error: true, result: 'x', total_cost_usd: 0.5, modelUsage: { model } };
    const events = claudeReader().line(JSON.stringify({ ...line, model_usage_since_last_result: {} }));
    expect(events[0]).toMatchObject({ type: 'usage', usage: { input: 0, output: 0, costUsd: 0 } });
  });

  test('a turn with several results counts them together', () => {
    const model = { inputTokens: 10, outputTokens: 3, costUSD: 0.5 };
    const result = {
      type: 'result',
      is_error: false,
      result: 'x',
      model_usage_since_last_result: { big: model },
    };
    expect(usageOf(read(result, result))).toMatchObject({ input: 20, output: 6, costUsd: 1 });
  });

  test('after the result nothing but another result changes what was used', () => {
    const result = { type: 'result', is_error: false, result: 'x', usage, total_cost_usd: 5 };
    const empty = { type: 'result', is_error: true, errors: ['boom'] };
    expect(usageOf(read(result, message('m9', [], usage), empty))).toMatchObject({ input: 105, costUsd: 5 });
    expect(usageOf(read(result, { ...result, total_cost_usd: 6 }))).toMatchObject({ costUsd: 6 });
  });

  test('figures below nothing, or beyond all bounds, are unknown', () => {
    const model = { inputTokens: 10, outputTokens: -5, costUSD: -3 };
    const line = { type: 'result', is_error: false, result: 'x', modelUsage: { model } };
    expect(usageOf(read(line))).toMatchObject({ input: 10, output: null, costUsd: null });
    const wild = JSON.stringify(line).replace('10', '1e400').replace('-5', '7');
    expect(
      claudeReader()
        .line(wild)
        .map(({ type }) => type),
    ).toEqual(['end']);
  });

  test('an older version, which does not count by model, is read too', () => {
    const events = read({ type: 'result', is_error: false, result: 'x', usage, total_cost_usd: 0.25 });
    expect(usageOf(events)).toMatchObject({ input: 105, output: 1, cached: 40, costUsd: 0.25 });
  });

  test('nothing reported is nothing said', () => {
    expect(usageOf(read({ type: 'result', is_error: false, result: 'x' }))).toBeUndefined();
  });
});

describe('the end', () => {
  const end = (line: object) => read({ type: 'result', ...line }).at(-1);

  test('only is_error tells success from failure', () => {
    expect(end({ subtype: 'success', is_error: true, result: 'Not logged in · Please run /login' })).toEqual({
      type: 'end',
      ok: false,
      answer: '',
      error: 'Not logged in · Please run /login',
      code: 'ENGINE_NOT_LOGGED_IN',
    });
    expect(end({ subtype: 'success', result: 'no word about errors' })).toMatchObject({ ok: false });
  });

  test.each([
    [{ api_error_status: 429, result: 'API Error' }, 'ENGINE_RATE_LIMITED'],
    [{ api_error_status: 529, result: 'Overloaded' }, 'ENGINE_RATE_LIMITED'],
    [{ subtype: 'error_max_budget_usd', errors: ['Reached maximum budget'] }, 'BUDGET_EXCEEDED'],
    [{ errors: ['No conversation found with session ID: 1'] }, 'CHAT_UNKNOWN'],
  ])('%j is %s', (line, code) => expect(end({ is_error: true, ...line })).toMatchObject({ ok: false, code }));
});

test('words of a sub-agent are not the words of the agent', () => {
  const line = { ...message('m', [{ type: 'text', text: 'inner' }]), parent_tool_use_id: 'toolu_1' };
  expect(read(line).filter(({ type }) => type === 'text')).toEqual([]);
});

test('its own words about a failed request are not the agent speaking', () => {
  const line = message('m', [{ type: 'text', text: 'API Error' }], { input_tokens: 0 });
  expect(read({ ...line, message: { ...line.message, model: '<synthetic>' } })).toEqual([]);
});

test('a refused tool, a retry and an unavailable server are reported', () => {
  const events = read(
    {
      type: 'system',
      subtype: 'init',
      session_id: 's',
      model: 'm',
      mcp_servers: [{ name: 'squad', status: 'failed' }],
    },
    {
      type: 'system',
      subtype: 'api_retry',
      attempt: 1,
      max_retries: 4,
      error_status: 529,
      retry_delay_ms: 40_000,
    },
    message('m', [{ type: 'tool_use', id: 't', name: 'Write', input: { file_path: '/a' } }]),
    { type: 'system', subtype: 'permission_denied', tool_name: 'Write', tool_use_id: 't' },
    { type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: 't', is_error: true }] } },
  );
  expect(events).toEqual([
    { type: 'chat', id: 's' },
    { type: 'model', model: 'm' },
    { type: 'note', text: 'The MCP server squad could not be reached: failed' },
    {
      type: 'note',
      text: "The model's API failed with 529; retry 1 of 4 in 40 s",
      retry: { code: 'ENGINE_RATE_LIMITED', waitMs: 40_000 },
    },
    { type: 'tool', name: 'Write', detail: '/a', edits: true },
    { type: 'note', text: 'Permission refused: Write' },
    { type: 'tool_end', name: 'Write', ok: false, denied: true },
  ]);
});

describe('an answer that is not whole is noted for the result', () => {
  const noted = (about: string) => ({
    type: 'note',
    text: expect.stringContaining(about),
    isForResult: true,
  });
  const told = (text: string, more: object = {}) => ({
    type: 'user',
    isSynthetic: true,
    parent_tool_use_id: null,
    message: { role: 'user', content: [{ type: 'text', text }] },
    ...more,
  });

  test('when Claude Code has the model continue it', () => {
    expect(read(told('Output token limit hit. Resume directly'))).toEqual([noted('output limit')]);
    expect(read(told('Your response above was stopped by a safety classifier'))).toEqual([
      noted('content filter'),
    ]);
  });

  test('when its result says so', () => {
    const result = {
      type: 'result',
      is_error: false,
      result: 'In short, the ans',
      stop_reason: 'max_tokens',
    };
    expect(read(result)).toContainEqual(noted('output limit'));
    expect(read({ ...result, stop_reason: 'end_turn' })).not.toContainEqual(noted('output limit'));
  });

  test('not for messages to a sub-agent, nor for messages of a person', () => {
    expect(read(told('Output token limit hit.', { parent_tool_use_id: 't' }))).toEqual([]);
    expect(read(told('Output token limit hit.', { isSynthetic: false }))).toEqual([]);
  });
});
