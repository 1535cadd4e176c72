import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hostileLines } from '../testing/hostile-lines.ts';
import { linesOf, readTranscript, readTurn, recordOf } from '../testing/transcript.ts';
import { opencodeReader } from './opencode-reader.ts';

const read = (name: string) => readTranscript(opencodeReader(), 'opencode', name);

describe('output of opencode', () => {
  it('has an answer and the id of its chat', async () => {
    const { events, end } = await read('answer');
    expect(end).toEqual({ type: 'end', ok: true, answer: 'Hello from the model.', error: null });
    expect(events[0]).toEqual({ type: 'chat', id: 'ses_00000000000000000000000001' });
    expect(events.filter(({ type }) => type === 'chat')).toHaveLength(1);
  });

  it.each(['answer', 'tool', 'chat', 'chat-2', 'mcp'])(
    'adds up its steps to what the model counted: %s',
    async name => {
      const { input, output, cached } = recordOf('opencode', name);
      expect((await read(name)).usage).toMatchObject({ input, output, cached });
    },
  );

  it('reports usage while it works', async () => {
    const { events } = await read('tool');
    expect(events.map(({ type }) => type)).toEqual([
      'chat',
      'text',
      'tool',
      'tool_end',
      'usage',
      'text',
      'usage',
      'end',
    ]);
  });

  it('adds up money, and takes no money for a price it does not know', async () => {
    const priced = await readTurn(opencodeReader(), [step('tool-calls', 0.25), step('stop', 0.5)], 0);
    expect(priced.usage?.costUsd).toBe(0.75);
    const unpriced = await readTurn(opencodeReader(), [step('stop', 0)], 0);
    expect(unpriced.usage?.costUsd).toBeNull();
  });

  it('counts reasoning as output and the cache as input', async () => {
    const tokens = { input: 10, output: 5, reasoning: 7, cache: { read: 100, write: 30 } };
    const { usage } = await readTurn(opencodeReader(), [event('step_finish', { reason: 'stop', tokens })], 0);
    expect(usage).toMatchObject({ input: 140, output: 12, cached: 100 });
  });

  it('marks tools that change files, and commands that failed', async () => {
    const write = event('tool_use', {
      tool: 'write',
      state: { status: 'completed', input: { filePath: 'a.ts' } },
    });
    expect(opencodeReader().line(write)).toEqual([
      { type: 'chat', id: 's' },
      { type: 'tool', name: 'write', detail: 'a.ts', edits: true },
      { type: 'tool_end', name: 'write', ok: true },
    ]);
    expect((await read('failing-tool')).events).toContainEqual({ type: 'tool_end', name: 'bash', ok: false });
  });
});

describe('ends of a turn of opencode', () => {
  it('is no success after a rejected permission, though it exits with 0', async () => {
    const { events, end } = await read('not-allowed');
    expect(recordOf('opencode', 'not-allowed').code).toBe(0);
    expect(events).toContainEqual({ type: 'tool_end', name: 'bash', ok: false, denied: true });
    expect(end).toMatchObject({
      ok: false,
      code: 'ENGINE_FAILED',
      error: expect.stringContaining('permission was refused'),
    });
  });

  it.each([
    ['api-401', 'ENGINE_NOT_LOGGED_IN', 'scripted 401'],
    ['garbage', 'ENGINE_FAILED', 'JSON parsing failed'],
  ])('%s is %s', async (name, code, words) => {
    expect((await read(name)).end).toMatchObject({ ok: false, code, error: expect.stringContaining(words) });
  });

  it.each(['terminated', 'api-429', 'api-500'])(
    'says nothing of its end when it was killed: %s',
    async name => {
      expect((await read(name)).end).toBeUndefined();
    },
  );

  it('is a failure when the answer was cut off, or the process failed after it', async () => {
    expect((await readTurn(opencodeReader(), [step('length', 1)], 0)).end?.ok).toBe(false);
    expect((await readTurn(opencodeReader(), [step('stop', 1)], 1)).end?.ok).toBe(false);
  });

  it('is known when its last step ends, and stays so when it is killed after that', async () => {
    const reader = opencodeReader();
    expect(reader.line(step('stop', 1))).toContainEqual(expect.objectContaining({ type: 'end', ok: true }));
    expect((await readTurn(opencodeReader(), [step('stop', 1)], 143)).end?.ok).toBe(true);
    const goesOn = [step('stop', 1), JSON.stringify({ type: 'step_start', sessionID: 's', part: {} })];
    expect((await readTurn(opencodeReader(), goesOn, 143)).end?.ok).toBe(false);
  });

  it('finds in its logs what its events only point to', async () => {
    const line = JSON.stringify({
      type: 'error',
      sessionID: 's',
      error: { name: 'UnknownError', data: { message: 'Unexpected server error.', ref: 'err_1' } },
    });
    const log = (words: string) =>
      recorded(
        [],
        [
          'timestamp=1 level=ERROR message="share subscriber failed" cause="x"',
          `timestamp=1 level=ERROR message=failed ref=err_1 error="ProviderModelNotFoundError: ${words}" cause="y"`,
          'timestamp=1 level=ERROR message=failed ref=err_2 error="Error: of another process" cause="y"',
        ],
      );
    const unknown = await readTurn(
      opencodeReader(),
      [line],
      1,
      log('Model not found: a/nope. Did you mean: b, c?'),
    );
    expect(unknown.end).toMatchObject({
      error: 'Model not found: a/nope. Did you mean: b, c?',
      code: 'ENGINE_FAILED',
    });
    const keyless = await readTurn(
      opencodeReader(),
      [line],
      1,
      log('Model not found: a/b. Did you mean: b, c?'),
    );
    expect(keyless.end).toMatchObject({
      code: 'ENGINE_NOT_LOGGED_IN',
      error: expect.stringContaining('no key'),
    });
    const silent = await readTurn(opencodeReader(), [line], 1);
    expect(silent.end?.error).toBe('Unexpected server error.');
    const asked = { 'command.json': JSON.stringify(['opencode', 'run', '--model=a/nope']) };
    expect((await readTurn(opencodeReader(), [line], 1, asked)).end?.error).toContain(
      'The model was a/nope;',
    );
  });

  describe('from its database', () => {
    const start = event('step_start', {});
    const killed = async (parts: Part[], lines = [start], command: string[] = []) => {
      const files = { ...recorded(parts), 'command.json': JSON.stringify(command) };
      const { events } = await readTurn(opencodeReader(), lines, 143, files);
      return events.filter(({ type }) => type === 'tool' || type === 'note');
    };
    const call = (id: string, tool: string, input: object, status = 'running'): Part => ({
      data: { type: 'tool', tool, callID: id, state: { status, input } },
    });
    const bash = { type: 'tool', name: 'bash', detail: 'ls' };

    it('counts the calls that were running when it was killed', async () => {
      const parts = [
        call('1', 'bash', { command: 'ls' }),
        call('2', 'bash', { command: 'ls' }),
        call('3', 'write', { filePath: 'a.ts' }),
        call('4', 'bash', {}, 'pending'),
        { data: { type: 'text', text: 'Looking.' } },
      ];
      expect(await killed(parts)).toEqual([
        { type: 'tool', name: 'write', detail: 'a.ts', edits: true },
        bash,
        bash,
      ]);
    });

    it('counts a call that has ended once', async () => {
      const over = event('tool_use', { tool: 'bash', callID: '1', state: { status: 'completed' } });
      const parts = [call('1', 'bash', { command: 'ls' }, 'completed'), call('2', 'bash', { command: 'ls' })];
      expect(await killed(parts, [start, over])).toEqual([{ ...bash, detail: '' }, bash]);
    });

    it("counts no sub-agent's calls, and none of a turn before", async () => {
      const parts = [
        { ...call('1', 'bash', { command: 'old' }), turn: 1 },
        { ...call('2', 'bash', { command: 'ls' }), chat: 'other' },
        call('3', 'task', { description: 'explore' }),
      ];
      expect(await killed(parts)).toEqual([{ type: 'tool', name: 'task', detail: 'explore' }]);
    });

    it('knows the chat of a turn that printed nothing', async () => {
      const parts = [call('1', 'bash', { command: 'ls' })];
      for (const command of [
        ['opencode', '--title', 'Squad run_1'],
        ['opencode', '--session', 's'],
      ])
        expect(await killed(parts, [], command)).toEqual([bash]);
      expect(await killed(parts, [], ['opencode', '--title', 'Squad run_2'])).toEqual([]);
    });

    it.each<[string, (database: string) => void]>([
      ['is damaged', database => writeFileSync(database, 'no database'.repeat(500))],
      ['is a pipe', database => pipeAt(database)],
      ['has a pipe as journal', database => pipeAt(`${database}-journal`)],
      ['is a link', database => linkTo(`${database}.other`, database)],
    ])('says that it cannot know when the database %s', async (_, spoil) => {
      const files = recorded([]);
      spoil(join(files['opencode-data-path'], 'opencode.db'));
      expect((await readTurn(opencodeReader(), [start], 143, files)).events).toContainEqual({
        type: 'note',
        text: expect.stringContaining('are not counted'),
        isForResult: true,
      });
    });
  });

  describe('from its log', () => {
    const at = (second: number) => `timestamp=2026-11-16T10:36:0${second}.000Z level=INFO run=r1`;
    const request = (second: number) => `${at(second)} message=stream session.id=s small=false`;
    const start = event('step_start', {});
    const killed = (lines: string[], log: string[]) =>
      readTurn(opencodeReader(), lines, 143, recorded([], log));

    it('says that the API failed and is asked again', async () => {
      const failed = `${at(2)} message="stream error" session.id=s error.error="AI_APICallError: Too Many Requests"`;
      expect((await killed([start], [request(1), failed])).events).toContainEqual({
        type: 'note',
        text: "The model's API failed: Too Many Requests",
        retry: { code: 'ENGINE_RATE_LIMITED', waitMs: null },
      });
      expect((await killed([start], [request(1), failed, request(3)])).events).not.toContainEqual(
        expect.objectContaining({ type: 'note' }),
      );
    });
  });

  it('knows a chat that is not there', async () => {
    const stderr = '\u001b[91m\u001b[1mError: \u001b[0mSession not found\n';
    expect((await readTurn(opencodeReader(), [], 1, { stderr })).end?.code).toBe('CHAT_UNKNOWN');
  });
});

it('never throws, whatever is printed', async () => {
  const lines = hostileLines([...linesOf('opencode', 'tool'), ...linesOf('opencode', 'api-401')]);
  const { usage } = await readTurn(opencodeReader(), lines, 1);
  expect(
    Object.values(usage ?? {}).every(value => value === null || value === false || Number.isFinite(value)),
  ).toBe(true);
});

const event = (type: string, part: object) => JSON.stringify({ type, sessionID: 's', part });
const step = (reason: string, cost: number) =>
  event('step_finish', {
    reason,
    cost,
    tokens: { input: 1, output: 1, reasoning: 0, cache: { read: 0, write: 0 } },
  });

interface Part {
  data: object;
  chat?: string;
  /** Of the two that the chat has had; the last one unless told. */
  turn?: number;
}

/** The files of a turn whose opencode recorded these parts of messages and logged these lines. */
function recorded(parts: Part[], log: string[] = []): { 'opencode-data-path': string } {
  const folder = mkdtempSync(join(tmpdir(), 'squad-opencode-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'log'));
  writeFileSync(join(folder, 'log', 'opencode.log'), log.join('\n'));
  const database = new BetterSqlite3(join(folder, 'opencode.db'));
  database.exec(`
    CREATE TABLE session (id TEXT, title TEXT, time_created INTEGER);
    CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
    CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
    INSERT INTO session VALUES ('s', 'Squad run_1', 1), ('other', 'Explore', 2);`);
  const message = database.prepare('INSERT INTO message VALUES (?, ?, ?, ?)');
  for (const chat of ['s', 'other'])
    for (const turn of [1, 2])
      for (const [at, role] of ['user', 'assistant'].entries())
        message.run(`${chat} ${turn} ${role}`, chat, turn * 10 + at, JSON.stringify({ role }));
  const part = database.prepare('INSERT INTO part VALUES (?, ?, ?, ?, ?)');
  for (const [at, { data, chat = 's', turn = 2 }] of parts.entries())
    part.run(String(at), `${chat} ${turn} assistant`, chat, at, JSON.stringify(data));
  database.close();
  return { 'opencode-data-path': folder };
}

function pipeAt(path: string): void {
  rmSync(path, { force: true });
  execFileSync('mkfifo', [path]);
}

function linkTo(target: string, path: string): void {
  renameSync(path, target);
  symlinkSync(target, path);
}
