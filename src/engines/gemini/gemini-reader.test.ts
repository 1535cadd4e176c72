import { describe, expect, it } from 'vitest';
import { hostileLines } from '../testing/hostile-lines.ts';
import { linesOf, readTranscript, readTurn, recordOf } from '../testing/transcript.ts';
import { geminiReader } from './gemini-reader.ts';

const read = (name: string) => readTranscript(geminiReader(), 'gemini', name);

describe('output of Gemini CLI', () => {
  it('joins the pieces of an answer', async () => {
    const { events, end } = await read('answer');
    expect(end).toEqual({ type: 'end', ok: true, answer: 'Hello from the model.', error: null });
    expect(events).toContainEqual({ type: 'text', text: 'Hello from the model.' });
    expect(events).toContainEqual({ type: 'chat', id: '00000000-0000-4000-8000-000000000001' });
    expect(events).toContainEqual({ type: 'model', model: 'gemini-3-pro' });
  });

  it.each(['answer', 'tool', 'chat', 'chat-2', 'mcp'])(
    'reports the tokens the model counted: %s',
    async name => {
      const { input, output, cached } = recordOf('gemini', name);
      expect((await read(name)).usage).toEqual({
        input,
        output,
        cached,
        costUsd: null,
        costIsEstimated: false,
      });
    },
  );

  it('counts thinking as output, which only the total does', async () => {
    const stats = { total_tokens: 150, input_tokens: 100, output_tokens: 20, cached: 0 };
    const { usage } = await readTurn(geminiReader(), [result({ status: 'success', stats })], 0);
    expect(usage).toMatchObject({ input: 100, output: 50 });
  });

  it('takes only what was said after the last tool for the answer', async () => {
    const { events, end } = await read('tool');
    expect(end?.answer).toBe('It said hi.');
    expect(events.map(({ type }) => type)).toEqual([
      'chat',
      'model',
      'text',
      'tool',
      'tool_end',
      'text',
      'model',
      'usage',
      'end',
    ]);
  });

  it('marks a tool that changes files', () => {
    const line = JSON.stringify({
      type: 'tool_use',
      tool_name: 'write_file',
      tool_id: '1',
      parameters: { file_path: 'a.ts' },
    });
    expect(geminiReader().line(line)).toEqual([
      { type: 'tool', name: 'write_file', detail: 'a.ts', edits: true },
    ]);
  });

  it('tells a tool the policy refused from one that failed', () => {
    const reader = geminiReader();
    reader.line(JSON.stringify({ type: 'tool_use', tool_name: 'replace', tool_id: '1', parameters: {} }));
    const line = {
      type: 'tool_result',
      tool_id: '1',
      status: 'error',
      error: { type: 'policy_violation', message: 'no' },
    };
    expect(reader.line(JSON.stringify(line))).toEqual([
      { type: 'tool_end', name: 'replace', ok: false, denied: true },
    ]);
  });
});

describe('ends of a turn of Gemini CLI', () => {
  it.each([
    ['api-401', 'ENGINE_NOT_LOGGED_IN', 'The API answered 401: scripted 401'],
    ['api-429', 'ENGINE_RATE_LIMITED', 'scripted 429'],
    ['api-500', 'ENGINE_FAILED', 'The API answered 500: scripted 500'],
    ['garbage', 'ENGINE_FAILED', 'API Error'],
  ])('%s is %s', async (name, code, words) => {
    const { end, usage } = await read(name);
    expect(end).toMatchObject({ ok: false, code, error: expect.stringContaining(words) });
    expect(usage).toBeUndefined();
  });

  it('knows the status of the API by the exit code alone', async () => {
    const failed = result({ status: 'error', error: { message: 'Something odd' } });
    expect((await readTurn(geminiReader(), [failed], 429 % 256)).end?.code).toBe('ENGINE_RATE_LIMITED');
    expect((await readTurn(geminiReader(), [failed], 403 % 256)).end?.code).toBe('ENGINE_NOT_LOGGED_IN');
  });

  it('is no success when it was killed, though it exits with 0', async () => {
    const { end } = await read('terminated');
    expect(end).toMatchObject({ ok: false, code: 'ENGINE_FAILED', error: expect.stringContaining('killed') });
  });

  it('is no success after a loop, though its result says so', async () => {
    const lines = [
      JSON.stringify({ type: 'error', severity: 'warning', message: 'Loop detected, stopping execution' }),
      result({ status: 'success', stats: {} }),
    ];
    expect((await readTurn(geminiReader(), lines, 0)).end).toMatchObject({
      ok: false,
      error: 'Loop detected, stopping execution',
    });
  });

  it('is a success when it went on after a warning', async () => {
    const lines = [
      JSON.stringify({ type: 'error', severity: 'warning', message: 'Asking again' }),
      JSON.stringify({ type: 'message', role: 'assistant', content: 'There.', delta: true }),
      result({ status: 'success', stats: {} }),
    ];
    expect((await readTurn(geminiReader(), lines, 0)).end).toMatchObject({ ok: true, answer: 'There.' });
  });

  it('says what it printed as plain text when it never came to events', async () => {
    const lines = ['\u001b[31mManual authorization is required.\u001b[0m', ''];
    const stderr = 'FatalAuthenticationError\n    at x (file:///y.js:1:1)';
    expect((await readTurn(geminiReader(), lines, 41, { stderr })).end).toMatchObject({
      error: 'Manual authorization is required.',
      code: 'ENGINE_NOT_LOGGED_IN',
    });
  });

  it('says from stderr that it was waiting to ask the API again', async () => {
    const attempt = (number: number, ms: number) =>
      `Attempt ${number} failed: scripted 429\nSuggested retry after 40s.. Retrying after ${ms}ms...\n`;
    const stderr = `Ripgrep is not available.\n${attempt(1, 700)}${attempt(2, 46_829)}`;
    const { events } = await readTurn(geminiReader(), [], 0, { stderr });
    expect(events).toContainEqual({
      type: 'note',
      text: "The model's API failed (scripted 429 Suggested retry after 40s); retry in 47 s",
      retry: { code: 'ENGINE_RATE_LIMITED', waitMs: 46_829 },
    });
  });

  it('leaves the end to the signal that ended it', async () => {
    expect((await readTurn(geminiReader(), linesOf('gemini', 'terminated'), 137)).end).toBeUndefined();
  });

  it('says what stderr says when it never came to events', async () => {
    const stderr = 'Please set an Auth method in your settings.json';
    expect((await readTurn(geminiReader(), [], 41, { stderr })).end).toEqual({
      type: 'end',
      ok: false,
      answer: '',
      error: stderr,
      code: 'ENGINE_NOT_LOGGED_IN',
    });
    const unknown = await readTurn(geminiReader(), [], 42, {
      stderr: 'Error resuming session: Invalid session identifier',
    });
    expect(unknown.end?.code).toBe('CHAT_UNKNOWN');
  });
});

it('never throws, whatever is printed', async () => {
  const reader = geminiReader();
  const lines = hostileLines([...linesOf('gemini', 'tool'), ...linesOf('gemini', 'api-401')]);
  const { events } = await readTurn(reader, lines, 1);
  expect(events.every(event => typeof event.type === 'string')).toBe(true);
  expect(events.filter(event => event.type === 'usage').every(({ usage }) => isSound(usage))).toBe(true);
});

const isSound = (usage: object): boolean =>
  Object.values(usage).every(value => value === null || value === false || Number.isFinite(value));

const result = (rest: object) => JSON.stringify({ type: 'result', ...rest });
