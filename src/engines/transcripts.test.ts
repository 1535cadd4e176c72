/** What each reader makes of what the real CLIs wrote, and of what is left of it when they are killed or damaged. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EngineEnd, EngineEvent, EngineReader } from '../core/ports.ts';
import type { CliId } from '../schema/engine-spec.ts';
import { cliProfile, cliProfiles } from './cli-profiles.ts';
import { readerOf } from './parsers.ts';

interface Recorded {
  code: number | null;
  signal: string | null;
  /** What the model server counted. */
  input: number;
  output: number;
  cached: number;
  stderr: string;
}

const ROOT = resolve(import.meta.dirname, '../../test/fixtures/transcripts');
const RECORDED = cliProfiles()
  .map(({ id }) => id)
  .filter(id => existsSync(join(ROOT, id, 'index.json')));

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
  const { cases } = JSON.parse(readFileSync(join(ROOT, cli, 'index.json'), 'utf8')) as {
    cases: Record<string, Recorded>;
  };

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

  test('a refused tool is told apart, or was never offered', async () => {
    const events = await read(cli, 'not-allowed', cases['not-allowed']!);
    const ended = events.filter(event => event.type === 'tool_end');
    expect(ended.every(({ ok }) => !ok)).toBe(true);
  });

  test('killed at any line, it is never done', async () => {
    const lines = linesOf(cli, 'tool');
    for (let kept = 0; kept < lines.length - 1; kept++) {
      const events = await readLines(cliProfile(cli).reader(), lines.slice(0, kept), 143, '');
      expect(endIn(events)?.ok ?? false).toBe(false);
    }
  });

  test('half of any line is passed over', async () => {
    for (const line of linesOf(cli, 'tool')) {
      const reader = cliProfile(cli).reader();
      expect(reader.line(line.slice(0, line.length / 2)).filter(isDone)).toEqual([]);
    }
  });

  test('survives any value in any place of any line', () => {
    const lines = readdirSync(join(ROOT, cli))
      .filter(file => file.endsWith('.jsonl'))
      .flatMap(file => linesOf(cli, file.replace('.jsonl', '')));
    const damaged = fc
      .tuple(fc.constantFrom(...lines), fc.nat(), fc.jsonValue({ maxDepth: 2 }))
      .map(([line, place, value]) => damage(line, place, value));
    fc.assert(
      fc.property(fc.array(damaged, { minLength: 1, maxLength: 12 }), some => {
        const reader = cliProfile(cli).reader();
        for (const line of some) for (const event of reader.line(line)) expectSound(event);
      }),
      { numRuns: 300 },
    );
  });
});

describe.each([...cliProfiles().map(({ id }) => id), 'squad' as const])('the reader of %s', kind => {
  const reader = () => readerOf(kind)!();

  test('passes over what is no event', () => {
    const noise = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.constantFrom(
        '',
        '{',
        '[]',
        'null',
        '{"type":',
        '{"type":"from-the-future","x":1}',
        '\ufffd{"type":"end"}',
      ),
    );
    fc.assert(
      fc.property(fc.array(noise), lines => {
        const one = reader();
        for (const line of lines) expect(one.line(line).filter(isDone)).toEqual([]);
      }),
      { numRuns: 300 },
    );
    expect(reader().line(`{"type":"${'x'.repeat(1_000_000)}`)).toEqual([]);
    expect(reader().line('x'.repeat(1_000_000))).toEqual([]);
  });

  test('nothing at all with exit code 0 is not success', async () => {
    expect(endIn(await readLines(reader(), [], 0, ''))?.ok ?? false).toBe(false);
  });
});

async function read(cli: CliId, name: string, { code, stderr }: Recorded): Promise<EngineEvent[]> {
  const beside = (file: string) => join(ROOT, cli, `${name}.${file}`);
  return readLines(cliProfile(cli).reader(), linesOf(cli, name), code ?? 143, stderr, beside);
}

async function readLines(
  reader: EngineReader,
  lines: string[],
  exitCode: number,
  stderr: string,
  beside?: (file: string) => string,
): Promise<EngineEvent[]> {
  const events = lines.flatMap(line => reader.line(line));
  const file = async (name: string) => {
    if (name === 'stderr') return stderr;
    const path = beside?.(name);
    return path && existsSync(path) ? readFileSync(path, 'utf8') : null;
  };
  return [...events, ...((await reader.finish?.({ exitCode, file })) ?? [])];
}

const linesOf = (cli: string, name: string): string[] =>
  readFileSync(join(ROOT, cli, `${name}.jsonl`), 'utf8')
    .split('\n')
    .filter(Boolean);

const endIn = (events: EngineEvent[]): EngineEnd | undefined =>
  events.findLast(event => event.type === 'end');
const isDone = (event: EngineEvent): boolean => event.type === 'end' && event.ok;
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

function expectSound(event: EngineEvent): void {
  if (event.type === 'text' || event.type === 'note') expect(typeof event.text).toBe('string');
  if (event.type === 'tool') expect([typeof event.name, typeof event.detail]).toEqual(['string', 'string']);
  if (event.type === 'chat') expect(typeof event.id).toBe('string');
  if (event.type === 'end') expect([typeof event.ok, typeof event.answer]).toEqual(['boolean', 'string']);
  if (event.type === 'usage')
    for (const figure of ['input', 'output', 'cached', 'costUsd'] as const)
      expect(event.usage[figure] === null || Number.isFinite(event.usage[figure])).toBe(true);
}

/** The same line with another value in one of its places. */
function damage(line: string, place: number, value: unknown): string {
  let left = place % JSON.stringify(JSON.parse(line)).split(/[,:[{]/).length;
  return JSON.stringify(JSON.parse(line), (_key, old) => (left-- === 0 ? value : old));
}
