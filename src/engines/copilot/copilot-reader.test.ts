import { describe, expect, it } from 'vitest';
import { hostileLines } from '../testing/hostile-lines.ts';
import { linesOf, readTranscript, readTurn, recordOf, sideFile } from '../testing/transcript.ts';
import { copilotReader } from './copilot-reader.ts';

const read = (name: string) =>
  readTranscript(copilotReader(), 'copilot', name, {
    'reports/usage.json': sideFile('copilot', `${name}.usage.json`),
  });

describe('output of Copilot CLI', () => {
  it('has an answer, its model and the id of its chat', async () => {
    const { events, end } = await read('answer');
    expect(end).toEqual({ type: 'end', ok: true, answer: 'Hello from the model.', error: null });
    expect(events.filter(({ type }) => type === 'model')).toEqual([{ type: 'model', model: 'mock-model' }]);
    expect(events).toContainEqual({ type: 'chat', id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
  });

  it.each(['answer', 'tool', 'mcp', 'not-allowed'])(
    'reports the tokens the model counted: %s',
    async name => {
      const { input, output, cached } = recordOf('copilot', name);
      expect((await read(name)).usage).toEqual({
        input,
        output,
        cached,
        costUsd: null,
        costIsEstimated: false,
      });
    },
  );

  it('says that its figures count from the beginning of the chat', async () => {
    const [first, second] = [recordOf('copilot', 'chat'), recordOf('copilot', 'chat-2')];
    const { events, usage } = await read('chat-2');
    expect(usage).toMatchObject({ input: first.input + second.input, output: first.output + second.output });
    expect(events.findLast(({ type }) => type === 'usage')).toMatchObject({
      runningTotals: ['input', 'output', 'cached'],
    });
  });

  it('shows tools, and takes only the last words for the answer', async () => {
    const { events, end } = await read('tool');
    expect(end?.answer).toBe('It said hi.');
    expect(events.map(({ type }) => type)).toEqual([
      'model',
      'text',
      'tool',
      'tool_end',
      'text',
      'chat',
      'end',
      'usage',
    ]);
  });

  it('tells a denied tool from one that failed', async () => {
    expect((await read('not-allowed')).events).toContainEqual({
      type: 'tool_end',
      name: 'bash',
      ok: false,
      denied: true,
    });
    expect((await read('failing-tool')).events).toContainEqual({ type: 'tool_end', name: 'bash', ok: false });
  });

  it('does not take a sub-agent for the agent', async () => {
    const lines = [
      message({ content: 'Mine.' }),
      message({ content: 'Not mine.', parentToolCallId: 'c' }),
      result(0),
    ];
    expect((await readTurn(copilotReader(), lines, 0)).end?.answer).toBe('Mine.');
  });
});

describe('ends of a turn of Copilot CLI', () => {
  it.each([
    ['api-401', 'ENGINE_NOT_LOGGED_IN', 'HTTP 401'],
    ['api-429', 'ENGINE_RATE_LIMITED', '429'],
    ['api-500', 'ENGINE_FAILED', 'scripted 500'],
    ['garbage', 'ENGINE_FAILED', 'Failed to get response'],
  ])('%s is %s', async (name, code, words) => {
    const { end, usage } = await read(name);
    expect(end).toMatchObject({ ok: false, code, error: expect.stringContaining(words) });
    expect(usage).toBeUndefined();
  });

  it('is no success when it was killed, though result and exit code look like one', async () => {
    expect(recordOf('copilot', 'terminated').code).toBe(0);
    expect(JSON.parse(linesOf('copilot', 'terminated').filter(Boolean).at(-1)!)).toMatchObject({
      exitCode: 0,
    });
    expect((await read('terminated')).end).toMatchObject({
      ok: false,
      error: expect.stringContaining('interrupted'),
    });
  });

  it('is no success when its own text stands for an answer that was filtered', async () => {
    const words = 'The model returned no content because the response was blocked by content filtering.';
    const { events, end } = await readTurn(copilotReader(), [message({ content: words }), result(0)], 0);
    expect(end).toMatchObject({ ok: false, answer: '', error: words, code: 'ENGINE_FAILED' });
    expect(events).toContainEqual({ type: 'note', text: words });
    const later = [message({ content: words }), message({ content: 'Here.' }), result(0)];
    expect((await readTurn(copilotReader(), later, 0)).end).toMatchObject({ ok: true, answer: 'Here.' });
  });

  it('says which failure of the API it is waiting out', () => {
    const data = { statusCode: 429, errorMessage: '{"message":"slow down"}' };
    expect(copilotReader().line(JSON.stringify({ type: 'model.call_failure', data }))).toEqual([
      {
        type: 'note',
        text: "The model's API failed: slow down (429)",
        retry: { code: 'ENGINE_RATE_LIMITED', waitMs: null },
      },
    ]);
  });

  it('is no success without a result', async () => {
    expect((await readTurn(copilotReader(), [message({ content: 'Hm' })], 0)).end).toMatchObject({
      ok: false,
    });
  });

  it.each([
    ["Error: No session, task, or name matched 'x'.\n\nTo resume by name: copilot", 'CHAT_UNKNOWN'],
    ['Error: No authentication information found.\n\nRun gh auth login', 'ENGINE_NOT_LOGGED_IN'],
    ["error: invalid value 'silly' for '--reasoning-effort <level>'", 'ENGINE_FAILED'],
  ])('says what stderr says: %s', async (stderr, code) => {
    const { end } = await readTurn(copilotReader(), [], 1, { stderr });
    expect(end).toMatchObject({ ok: false, code, error: expect.stringContaining(stderr.split('\n')[0]!) });
  });

  it.each(['', 'null', '[]', '{"modelMetrics":[]}', '{"modelMetrics":{"m":{"usage":{"inputTokens":"1"}}}}'])(
    'invents no tokens from a usage file that says %j',
    async content => {
      const { usage } = await readTurn(copilotReader(), [result(0)], 0, { 'reports/usage.json': content });
      expect(usage).toBeUndefined();
    },
  );
});

it('never throws, whatever is printed', async () => {
  const lines = hostileLines(
    [...linesOf('copilot', 'tool'), ...linesOf('copilot', 'api-401')].filter(isShort),
  );
  const { events } = await readTurn(copilotReader(), lines, 1, {
    'reports/usage.json': '{"modelMetrics":{"a":7}}',
  });
  expect(events.length).toBeGreaterThan(0);
});

const isShort = (line: string) => line.length < 2_000;
const message = (data: object) => JSON.stringify({ type: 'assistant.message', data });
const result = (exitCode: number) => JSON.stringify({ type: 'result', sessionId: 's', exitCode });
