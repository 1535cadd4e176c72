import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callTool, TestSquad, until } from '../../support/squad.ts';
import { type Refused, strictCall } from '../../support/tools.ts';

interface Result {
  spawn_id: string;
  status: string;
  success: boolean | null;
  result: string | null;
  evidence: Record<string, unknown>;
  note?: string;
  isError?: boolean;
  [field: string]: unknown;
}

const squad = new TestSquad();
const script = (lines: string) => `Do it.\n\`\`\`script\n${lines}\n\`\`\``;

beforeAll(async () => {
  squad.write('CLAUDE.md', 'The project is called Heron.');
  squad.write('schema.json', JSON.stringify({ type: 'object', required: ['n'] }));
  squad.write('sub/here.txt', '');
  await squad.unlimited();
});
afterAll(() => squad[Symbol.asyncDispose]());

/** Takes the call up again until the run has ended. */
async function spawn(client: Client, args: Record<string, unknown>): Promise<Result> {
  const started = await strictCall<Result>(client, 'spawn_agent', { engine: 'scripted', ...args });
  if (started.spawn_id === undefined) throw new Error(JSON.stringify(started));
  return untilEnded(client, started);
}

const untilEnded = (client: Client, started: Result): Promise<Result> =>
  until('the run is over', async () => {
    const { spawn_id } = started;
    const now = await strictCall<Result>(client, 'get_result', { spawn_id, wait_seconds: 90 });
    return now.success === null ? null : now;
  });

describe.each([
  { era: 'legacy', modern: false },
  { era: 'modern', modern: true },
])('spawn_agent in the $era era', ({ modern }) => {
  test('runs a prompt and returns what its engine reported, and what Squad saw', {
    tags: ['C1'],
  }, async () => {
    const client = await squad.client({ modern });
    const result = await strictCall<Result>(client, 'spawn_agent', {
      engine: 'scripted',
      prompt: script('usage 1200 340 900 0.012\nreport Done.'),
      task_summary: 'A small thing',
    });
    expect(result).toMatchObject({
      spawn_id: expect.stringMatching(/^run_/),
      squad_id: expect.stringMatching(/^squad_/),
      role_id: null,
      status: 'completed',
      success: true,
      result: 'Done.',
      duration_seconds: expect.any(Number),
      cost_usd: 0.012,
      tokens: { input: 1200, output: 340, cached: 900 },
      usage_source: 'reported',
      evidence: { exit_code: 0, leftovers_killed: 0 },
    });
    expect(result).not.toHaveProperty('note');
  });

  test('says what nobody reported with null', async () => {
    const client = await squad.client({ modern });
    const result = await spawn(client, { prompt: script('fail No luck.') });
    expect(result).toMatchObject({
      status: 'error',
      success: false,
      cost_usd: null,
      tokens: null,
      usage_source: 'none',
      error: { code: 'ENGINE_FAILED', message: expect.stringContaining('No luck.') },
    });
  });

  test('returns at once with async, with nulls and how to go on', { tags: ['C2', 'C4'] }, async () => {
    const client = await squad.client({ modern });
    const started = await strictCall<Result>(client, 'spawn_agent', {
      engine: 'scripted',
      prompt: script('say Looking.\nawait go\nreport There.'),
      working_directory: modern ? 'sub' : '.',
      async: true,
    });
    expect(['queued', 'running']).toContain(started.status);
    expect(started).toMatchObject({
      success: null,
      result: null,
      duration_seconds: null,
      cost_usd: null,
      tokens: null,
      usage_source: 'none',
      evidence: { verdict: null, exit_code: null, leftovers_killed: null },
      note: expect.stringContaining(`get_result {"spawn_id":"${started.spawn_id}"`),
    });
    const { activity } = await until('it has said something', async () => {
      const now = await strictCall<Result>(client, 'get_result', { spawn_id: started.spawn_id });
      return String(now.activity).includes('Looking.') ? now : null;
    });
    expect(activity).toMatch(/^Looking\. \(\d+ s ago\)$/);
    squad.write(modern ? 'sub/go' : 'go', '');
    const ended = await untilEnded(client, started);
    expect(ended).toMatchObject({ status: 'completed', result: 'There.' });
    expect(ended).not.toHaveProperty('activity');
  });
});

test('an answer that fits the schema asked for comes as a value too', { tags: ['C2'] }, async () => {
  const client = await squad.client();
  const good = await spawn(client, { prompt: script('report {"n": 5}'), structured_output: 'schema.json' });
  expect(good).toMatchObject({
    status: 'completed',
    structured: { n: 5 },
    evidence: { verdict: 'verified' },
  });
  const bad = await spawn(client, { prompt: script('report {"m": 5}'), structured_output: 'schema.json' });
  expect(bad).toMatchObject({ success: false, result: '{"m": 5}', error: { code: 'OUTPUT_MISMATCH' } });
  expect(bad).not.toHaveProperty('structured');
});

test('a value too long to show is left to its pages', async () => {
  const client = await squad.client();
  const prompt = `Do it.\n\`\`\`script\nreport {"n": "${'x'.repeat(7_000)}"}\n\`\`\``;
  const result = await spawn(client, { prompt, structured_output: 'schema.json' });
  expect(result).toMatchObject({
    status: 'completed',
    note: expect.stringContaining('structured is too long'),
  });
  expect(result).not.toHaveProperty('structured');
});

test('limits that only words hold are listed as advisory', { tags: ['C1', 'F5'] }, async () => {
  const result = await spawn(await squad.client(), { prompt: 'x', permission: 'read', tools: ['Read'] });
  expect(result.advisory).toEqual([
    expect.stringMatching(/^permission: read/),
    expect.stringMatching(/^tools: Read/),
  ]);
});

describe('files and variables of an agent', () => {
  const asked = async (args: Record<string, unknown>) => {
    const client = await squad.client();
    const { spawn_id } = await spawn(client, { prompt: 'Look around.', ...args });
    return squad.json<{ run: Record<string, unknown> & { options: object } }>(['show', spawn_id]);
  };
  const promptOf = async (id: unknown) => {
    return readFile(join(squad.home, 'runs', String(id), 'turn-1', 'prompt.md'), 'utf8');
  };

  test('is the context of the project, then the prompt', { tags: ['C6'] }, async () => {
    const { run } = await asked({});
    const prompt = await promptOf(run.id);
    expect(prompt).toContain('Heron');
    expect(prompt.indexOf('Heron')).toBeLessThan(prompt.indexOf('# Your Task\n\nLook around.'));
  });

  test('is no context when that is not wanted', async () => {
    const { run } = await asked({ include_context: false });
    expect(await promptOf(run.id)).not.toContain('Heron');
  });

  test('is its role, where one is named', async () => {
    const { run } = await asked({ roleId: 'coder', include_context: false });
    expect(run.roleId).toBe('coder');
    expect(await promptOf(run.id)).toMatch(/[\s\S]+---\n\n# Your Task/);
  });

  test('is every limit that was asked for', { tags: ['C1'] }, async () => {
    const { run } = await asked({
      permission: 'read',
      tools: ['Read'],
      timeout: 31,
      max_cost_usd: 0.5,
      abort_on_budget_exceeded: false,
      effort: 'low',
      model: 'small',
      working_directory: 'sub',
      task_summary: 'Short',
    });
    expect(run).toMatchObject({
      timeoutMs: 31_000,
      model: 'small',
      cwd: 'sub',
      title: 'Short',
      options: { permission: 'read', tools: ['Read'], budgetUsd: 0.5, stopAtBudget: false, effort: 'low' },
    });
  });
});

describe('impossible requests are refused before anything starts', () => {
  const cases: [string, Record<string, unknown>, string, RegExp][] = [
    ['a time below the range', { timeout: 29 }, 'INVALID_INPUT', /30 to 1800 seconds/],
    ['a time above the range', { timeout: 1801 }, 'INVALID_INPUT', /30 to 1800 seconds/],
    ['a budget of nothing', { max_cost_usd: 0 }, 'INVALID_INPUT', /more than 0/],
    ['a negative budget', { max_cost_usd: -1 }, 'INVALID_INPUT', /more than 0/],
    ['an unknown field', { promt: 'x' }, 'INVALID_INPUT', /promt/],
    ['an unknown permission', { permission: 'root' }, 'INVALID_INPUT', /permission/],
    ['a long summary', { task_summary: 'x'.repeat(201) }, 'INVALID_INPUT', /200 characters/],
    ['an empty prompt', { prompt: ' \n' }, 'TASK_EMPTY', /empty/],
    ['a schema that is not there', { structured_output: 'no.json' }, 'SCHEMA_INVALID', /no\.json/],
    ['an unknown role', { roleId: 'nobody' }, 'ROLE_UNKNOWN', /nobody/],
    ['a folder outside', { working_directory: '..' }, 'CWD_OUTSIDE_WORKSPACE', /\.\./],
    ['an unknown engine', { engine: 'abacus' }, 'ENGINE_UNKNOWN', /abacus/],
    ['a chat in stateless mode', { chatId: 'c' }, 'INVALID_INPUT', /^chatId is given/],
  ];
  test.each(cases)('%s', async (_, args, code, message) => {
    const client = await squad.client();
    const before = await squad.json<{ runs: unknown[] }>(['ls', '--all']);
    const refused = await callTool<Refused>(client, 'spawn_agent', {
      prompt: 'x',
      engine: 'scripted',
      ...args,
    });
    expect(refused).toMatchObject({ isError: true, error: { code } });
    expect(refused.error.message).toMatch(message);
    const after = await squad.json<{ runs: unknown[] }>(['ls', '--all']);
    expect(after.runs).toHaveLength(before.runs.length);
  });
});

test('in stateful mode a chat goes on', { tags: ['A3'] }, async () => {
  const client = await squad.client({ env: { STATE_MODE: 'stateful' } });
  const first = await spawn(client, { prompt: 'One.' });
  expect(first.chat_id).toEqual(expect.any(String));
  const second = await spawn(client, { prompt: script('say again'), chatId: first.chat_id });
  expect(second.chat_id).toBe(first.chat_id);
  expect((await squad.json<{ run: { chatIsNew: boolean } }>(['show', second.spawn_id])).run.chatIsNew).toBe(
    false,
  );
});

describe('a tool for one agent CLI', () => {
  const names = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);
  const bare = `${dirname(process.execPath)}:/usr/bin:/bin`;

  test('is listed where the CLI is, without being started', { tags: ['C1'] }, async () => {
    squad.script('clis/claude', `touch ${join(squad.workspace, 'was-started')}; sleep 60`);
    const withCli = await squad.client({ env: { PATH: `${join(squad.workspace, 'clis')}:${bare}` } });
    expect(await names(withCli)).toContain('spawn_claude');
    expect(await names(withCli)).not.toContain('spawn_codex');
    expect(existsSync(join(squad.workspace, 'was-started'))).toBe(false);
    expect(await names(await squad.client({ env: { PATH: bare } }))).not.toContain('spawn_claude');
  });

  test('can be called where it is not, and says how to get it', { tags: ['C1'] }, async () => {
    const client = await squad.client({ env: { PATH: bare } });
    for (const [tool, install] of [
      ['spawn_claude', 'claude'],
      ['spawn_codex', 'codex'],
    ] as const) {
      const refused = await callTool<Refused>(client, tool, { prompt: 'x' });
      expect(refused).toMatchObject({ isError: true, error: { code: 'ENGINE_NOT_FOUND' } });
      expect(refused.error.suggestions!.join('\n')).toContain(install);
    }
  });

  test('has its own defaults', { tags: ['C1'] }, async () => {
    squad.script('fakes/claude', 'case "$1" in --version) echo "2.1.325 (Claude Code)";; *) exit 3;; esac');
    squad.script('fakes/codex', 'case "$1" in --version) echo "codex-cli 0.166.0";; *) exit 3;; esac');
    const client = await squad.client({ env: { PATH: `${join(squad.workspace, 'fakes')}:${bare}` } });
    for (const [tool, expected] of [
      [
        'spawn_claude',
        {
          engine: 'claude',
          timeoutMs: 300_000,
          model: 'sonnet',
          options: { tools: ['Bash', 'Read', 'Glob', 'Grep'], permission: 'edit' },
        },
      ],
      [
        'spawn_codex',
        { engine: 'codex', timeoutMs: 120_000, options: { tools: ['Bash', 'Read'], permission: 'edit' } },
      ],
    ] as const) {
      const { spawn_id, isError, ...rest } = await strictCall<Result>(client, tool, {
        prompt: 'x',
        async: true,
      });
      expect(isError, JSON.stringify(rest)).toBeUndefined();
      expect((await squad.json<{ run: object }>(['show', spawn_id])).run).toMatchObject(expected);
    }
  });
});
