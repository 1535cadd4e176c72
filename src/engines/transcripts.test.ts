/** Events of each reader for recorded output of the real CLIs. */
import { describe, expect, test } from 'vitest';
import type { EngineEvent } from '../core/ports/engine.ts';
import { casesOf, endIn, RECORDED, read } from './testing/recorded.ts';

/** The same script was played to all of them; what differs is said below. */
const EXPECTED: Record<string, Expected> = {
  answer: { answer: 'Hello from the model.', tools: [] },
  tool: { answer: 'It said hi.', tools: ['shell ok'] },
  'failing-tool': { answer: 'It failed.', tools: ['shell failed'] },
  chat: { answer: 'First.', tools: [] },
  'chat-2': { answer: 'Second.', tools: [] },
  mcp: { answer: 'It answered.', tools: ['ping ok'] },
  structured: { answer: '{"verdict":"fine"}' },
  budget: { failure: 'BUDGET_EXCEEDED' },
  'api-401': { failure: 'ENGINE_NOT_LOGGED_IN' },
  'api-429': { failure: 'ENGINE_RATE_LIMITED' },
  'api-500': { failure: 'ENGINE_FAILED' },
  garbage: { failure: 'ENGINE_FAILED' },
  terminated: { failure: 'any' },
};

type Expected = { answer: string; tools?: string[] } | { failure: string };

const OTHERWISE: Record<string, Partial<Expected>> = {
  // It does not say that a command failed.
  'gemini/failing-tool': { tools: ['shell ok'] },
  'qwen/mcp': { tools: ['tool_call ok'] },
  // Still retrying in silence when they were killed.
  'qwen/api-429': { failure: 'any' },
  'qwen/api-500': { failure: 'any' },
  'opencode/api-429': { failure: 'any' },
  'opencode/api-500': { failure: 'any' },
};

describe.each(RECORDED)('%s', cli => {
  const cases = casesOf(cli);

  test('was recorded in the cases every engine must tell apart', () => {
    const names = Object.keys(cases);
    for (const name of ['answer', 'tool', 'chat', 'chat-2', 'mcp', 'not-allowed', 'api-401', 'terminated'])
      expect(names).toContain(name);
    for (const name of names) if (name !== 'not-allowed') expect(EXPECTED).toHaveProperty(name);
  });

  test.each(Object.entries(cases).filter(([name]) => name in EXPECTED))('%s', async (name, recorded) => {
    const events = await read(cli, name, recorded);
    const end = endIn(events);
    const expected = { ...EXPECTED[name]!, ...OTHERWISE[`${cli}/${name}`] };
    if ('failure' in expected) {
      expect(end?.ok ?? false).toBe(false);
      if (expected.failure !== 'any') expect(end).toMatchObject({ code: expected.failure });
      if (end) expect(end.error).toBeTruthy();
      return;
    }
    expect(end).toMatchObject({ ok: true, answer: expected.answer, error: null });
    if (expected.tools) expect(toolsIn(events)).toEqual(expected.tools);
    expect(events.some(({ type }) => type === 'chat')).toBe(true);
  });

  const endedByItself = Object.entries(cases).filter(
    ([name, { code, input }]) => code !== null && input > 0 && name !== 'terminated',
  );
  test.each(endedByItself)('%s: tokens are what the model server counted', async (name, recorded) => {
    const events = await read(cli, name, recorded);
    const before = name === 'chat-2' && countsOn(events) ? cases.chat! : { input: 0, output: 0, cached: 0 };
    expect(events.findLast(event => event.type === 'usage')?.usage).toMatchObject({
      input: before.input + recorded.input,
      output: before.output + recorded.output,
      cached: before.cached + recorded.cached,
    });
  });

  test('both turns of a chat name the same chat', async () => {
    const chatOf = async (name: string) =>
      (await read(cli, name, cases[name]!)).find(event => event.type === 'chat')?.id;
    expect(await chatOf('chat')).toBeTruthy();
    expect(await chatOf('chat-2')).toBe(await chatOf('chat'));
  });

  test('a refused tool ends as failed, or was never offered', async () => {
    const events = await read(cli, 'not-allowed', cases['not-allowed']!);
    const ended = events.filter(event => event.type === 'tool_end');
    expect(ended.every(({ ok }) => !ok)).toBe(true);
  });
});

const countsOn = (events: EngineEvent[]): boolean =>
  (events.findLast(event => event.type === 'usage')?.runningTotals ?? []).includes('input');

const SHELLS = ['Bash', 'bash', 'command_execution', 'run_shell_command'];

const toolsIn = (events: EngineEvent[]): string[] =>
  events
    .filter(event => event.type === 'tool_end')
    .map(
      ({ name, ok }) =>
        `${SHELLS.includes(name) ? 'shell' : name.replace(/^.*ping$/, 'ping')} ${ok ? 'ok' : 'failed'}`,
    );
