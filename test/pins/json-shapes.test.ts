import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestSquad } from '../support/squad.ts';

/** Scripts read these: a field may be added, none may go or change its kind. */
const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const TASK = 'x\n```script\nsay hi\nusage 1 2 3 0.5\nleave exec sleep 300\nsleep 100ms\n```';
let id: string;

beforeAll(async () => {
  squad.write('.squad/squad.json', '{"onEnd":["true"]}');
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', TASK]);
  id = runIds[0]!;
  await squad.run(['log', '-f', id]);
});
afterAll(() => squad[Symbol.asyncDispose]());

/** A value with every leaf replaced by its kind, and every list by its first element. */
function shapeOf(value: unknown): unknown {
  if (value === null) return 'null';
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
  if (typeof value !== 'object') return typeof value;
  return Object.fromEntries(Object.entries(value as object).map(([key, inner]) => [key, shapeOf(inner)]));
}

const shape = async (args: string[]) => shapeOf(await squad.json(args));

const USAGE = {
  input: 'number',
  output: 'number',
  cached: 'number',
  costUsd: 'number',
  costIsEstimated: 'boolean',
};
const RESULT = {
  spawn_id: 'string',
  squad_id: 'string',
  role_id: 'string',
  status: 'string',
  success: 'boolean',
  result: 'string',
  duration_seconds: 'number',
  cost_usd: 'number',
  model: 'null',
  tokens: { input: 'number', output: 'number', cached: 'number' },
  usage_source: 'string',
  sandbox: 'string',
  evidence: {
    verdict: 'string',
    exit_code: 'number',
    tool_calls: 'number',
    tool_failures: 'number',
    files_changed: 'null',
    commits: 'null',
    diff: 'null',
    leftovers_killed: 'number',
    note: 'string',
  },
};

const RUN = {
  id: 'string',
  squadId: 'string',
  position: 'number',
  lineageId: 'string',
  roleId: 'string',
  type: 'string',
  reviewOf: 'null',
  task: 'string',
  title: 'null',
  cwd: 'string',
  directory: 'string',
  workspace: 'string',
  worktree: 'null',
  engine: 'string',
  outputIsEvents: 'boolean',
  model: 'null',
  stateMode: 'string',
  chatId: 'string',
  chatIsNew: 'boolean',
  parentId: 'null',
  depth: 'number',
  client: 'string',
  timeoutMs: 'number',
  keepLeftovers: 'boolean',
  options: {
    tools: 'null',
    permission: 'string',
    approvals: 'string',
    effort: 'null',
    forksChat: 'null',
    stallMs: 'null',
    budgetUsd: 'null',
    stopAtBudget: 'boolean',
    outputSchema: 'null',
    spawn: 'boolean',
    mcp: [],
    messages: [],
    wake: 'null',
    notify: 'boolean',
    setup: 'null',
    onEnd: 'null',
    onAsk: 'null',
    subagent: 'null',
    takesUp: 'null',
    sandbox: { level: 'string', network: 'string', hosts: [], read: [] },
    machine: 'null',
    placedBy: 'null',
    promptOnly: 'boolean',
    takeover: 'boolean',
    attempt: { number: 'number', turn: 'number' },
    parkMs: 'null',
    limit: 'null',
  },
  policy: [],
  status: 'string',
  turn: 'number',
  error: 'null',
  usage: USAGE,
  notes: [],
  evidence: {
    exitCode: 'number',
    durationMs: 'number',
    toolCalls: 'number',
    toolFailures: 'number',
    toolDenials: 'number',
    toolEdits: 'number',
    filesChanged: 'null',
    commits: 'null',
    diff: 'null',
    leftoversKilled: 'number',
    note: 'string',
    verdict: 'string',
  },
  createdAt: 'number',
  startedAt: 'number',
  endedAt: 'number',
};
const SETTING = { key: 'string', value: 'string', origin: 'string', source: 'string' };
const STATUS = {
  running: 'boolean',
  version: 'string',
  pid: 'number',
  home: 'string',
  socket: 'string',
  database: 'string',
  startedAt: 'number',
  clients: 'number',
  callsInFlight: 'number',
  sessions: 'number',
  memoryBytes: 'number',
  url: 'string',
  page: 'string',
  tokenFile: 'string',
  restored: 'null',
  successor: 'null',
  warnings: [],
  runsActive: 'number',
  runsQueued: 'number',
};

describe('--json of', () => {
  test('ls', async () =>
    expect(await shape(['ls'])).toEqual({
      runs: [{ ...RUN, hub: 'null', quiet: 'null', needsYou: 'boolean', branchState: 'null' }],
    }));

  test('show', async () =>
    expect(await shape(['show', id])).toEqual({
      run: RUN,
      hub: 'null',
      branchState: 'null',
      turns: [
        {
          runId: 'string',
          number: 'number',
          pid: 'number',
          startedAt: 'number',
          deadlineAt: 'number',
          stop: 'null',
          endedAt: 'number',
          exitCode: 'number',
          leftovers: [{ pid: 'number', command: 'string' }],
        },
      ],
      squad: { id: 'string', workspace: 'string', client: 'string', metadata: 'null', createdAt: 'number' },
      tries: { of: 'null', since: [] },
      result: RESULT,
      ...{ work: 'null', review: 'null', pullRequest: 'null' },
      setting: {
        ...{ program: 'null', version: 'null', subagentFile: 'null' },
        ...{ variables: 'null', command: ['string'] },
      },
      files: { stdout: 'string', stderr: 'string', stdoutBytes: 'number', stderrBytes: 'number' },
      quiet: 'null',
    }));

  test('log', async () => {
    const stream = { text: 'string', bytes: 'number' };
    expect(await shape(['log', id])).toEqual({
      runId: 'string',
      status: 'string',
      stdout: stream,
      stderr: stream,
    });
  });

  test('run, line by line', async () => {
    const { stdout } = await squad.run(['run', '--json', 'coder', TASK]);
    const events = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as { type: string });
    const shapes = Object.fromEntries(events.map(event => [event.type, shapeOf(event)]));
    const of = (more: object, runId = 'string') => ({
      v: 'number',
      type: 'string',
      seq: 'number',
      at: 'number',
      runId,
      squadId: 'string',
      ...more,
    });
    expect(shapes).toEqual({
      'squad.created': of({ members: 'number' }, 'null'),
      'run.queued': of({ roleId: 'string', engine: 'string' }),
      'run.started': of({ turn: 'number', pid: 'number' }),
      'run.activity': of({ kind: 'string', text: 'string' }),
      'run.ended': of({
        status: 'string',
        exitCode: 'number',
        error: 'null',
        usage: RUN.usage,
        leftovers: [{ pid: 'number', command: 'string' }],
        durationMs: 'number',
      }),
      result: { v: 'number', type: 'string', squadId: 'string', exitCode: 'number', runs: [RESULT] },
    });
  });

  test('run --detach and cancel', async () => {
    expect(await shape(['run', '-d', 'coder', 'x\n```script\nhang\n```'])).toEqual({
      squadId: 'string',
      runIds: ['string'],
    });
    expect(await shape(['cancel', '--all'])).toEqual({
      runs: [{ spawn_id: 'string', status: 'string', was_running: 'boolean' }],
    });
  });

  test('roles', async () =>
    expect(await shape(['roles'])).toEqual({
      folder: 'string',
      reason: 'string',
      roles: [
        {
          id: 'string',
          name: 'string',
          description: 'string',
          file: 'string',
          fault: 'null',
          warnings: [],
        },
      ],
    }));

  test('config show, set and unset', async () => {
    expect(await shape(['config', 'show'])).toEqual({
      root: 'string',
      userFile: 'string',
      settings: [SETTING],
      limits: [{ ...SETTING, value: 'number' }],
      ignored: [{ file: 'string', key: 'string', reason: 'string' }],
      rolesFolder: { folder: 'string', reason: 'string' },
      engine: { id: 'string', problem: 'null', suggestions: [], notes: [] },
    });
    for (const args of [
      ['set', 'limits.depth', '3'],
      ['unset', 'limits.depth'],
    ])
      expect(await shape(['config', ...args])).toEqual({ key: 'string', value: 'number' });
  });

  test('doctor', async () =>
    expect(await shape(['doctor'])).toEqual({
      ok: 'boolean',
      ownEngines: {},
      checks: [{ name: 'string', state: 'string', detail: 'string', next: [] }],
      engines: [
        {
          ...{ id: 'string', name: 'string', install: 'string', login: 'string' },
          ...{ program: 'null', version: 'null', tested: 'string', warning: 'null', advisory: [] },
          rules: [{ rule: 'string', heldBy: 'string', inSandbox: 'string', note: 'string' }],
        },
      ],
    }));

  test('wait, line by line', async () => {
    const { stdout } = await squad.run(['wait', id, '--json']);
    expect(shapeOf(JSON.parse(stdout))).toMatchObject({
      ...{ v: 'number', type: 'string', seq: 'number', at: 'number', runId: 'string', squadId: 'string' },
      ...{ status: 'string', exitCode: 'number', durationMs: 'number' },
    });
  });

  test('reply and retry that leave at once', async () => {
    const started = { squadId: 'string', runIds: ['string'] };
    for (const command of [
      ['retry', id, '-d'],
      ['reply', id, '-d', 'More.'],
    ]) {
      const answer = await squad.json<{ runIds: string[] }>(command);
      expect(shapeOf(answer)).toEqual(started);
      // A run that is still going would add a note to the diff of the next one in this folder.
      await squad.run(['wait', ...answer.runIds]);
    }
  });

  test('context', async () => {
    const { context, ...rest } = (await shape(['context'])) as { context: object };
    expect(rest).toEqual({
      roleId: 'null',
      engine: 'string',
      isolation: 'string',
      timeoutMs: 'number',
      notes: [],
    });
    expect(context).toEqual({
      text: 'string',
      tokens: 'number',
      budgetTokens: 'number',
      parts: [],
      leftOut: [],
    });
  });

  test('diff', async () => {
    execFileSync('git', ['init', '-q'], { cwd: squad.workspace });
    const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', 'x']);
    await squad.run(['wait', runIds[0]!]);
    expect(await shape(['diff', runIds[0]!])).toEqual({
      ...{ runId: 'string', isOver: 'boolean', branch: 'null', text: 'string', isTruncated: 'boolean' },
      ...{ files: 'null', lines: 'null', notes: [] },
    });
    rmSync(join(squad.workspace, '.git'), { recursive: true });
  });

  test('trust', async () => {
    expect(await shape(['trust', '--yes'])).toEqual({ files: [{ file: 'string', trusted: 'boolean' }] });
    expect(await shape(['trust'])).toEqual({ files: [] });
  });

  test('team, decisions, backlog', async () => {
    squad.write('team/.squad/team.md', '| Name | Role | Status |\n|-|-|-|\n| Ann | Lead | Active |\n');
    squad.write('team/.squad/decisions.md', '### 2026-01-01: One\nBy: a\nWhat: b\nWhy: c\n');
    squad.write('team/.squad/backlog.md', 'Free.\n## Next\ntext\n- [ ] a [P1] @b (#1)\n  n\n');
    const inTeam = (...words: string[]) => shape([...words, '--workspace', 'team']);
    expect(await inTeam('team')).toEqual({
      members: [
        {
          ...{ name: 'string', agent: 'string', role: 'string', status: 'string', charter: 'null' },
          ...{ onRoster: 'boolean', running: 'number', queued: 'number' },
        },
      ],
      notes: [],
    });
    const decision = {
      ...{ id: 'string', title: 'string', date: 'string', by: 'string', what: 'string', why: 'string' },
      ...{ text: 'string', file: 'string', merged: 'boolean' },
    };
    expect(await inTeam('decisions')).toEqual({ decisions: [decision], total: 'number', notes: [] });
    expect(await inTeam('decisions', '--search', 'one')).toEqual({
      decisions: [{ ...decision, snippet: 'string' }],
      total: 'number',
      notes: [],
    });
    const item = { number: 'number', title: 'string', done: 'boolean', issue: 'string', owner: 'string' };
    expect(await inTeam('backlog')).toEqual({
      groups: [
        {
          title: 'string',
          items: [{ ...item, priority: 'string', notes: 'string', key: 'string', run: 'null' }],
          text: 'string',
        },
      ],
      notes: [],
      revision: 'string',
    });
  });

  test('init', async () => {
    squad.write('fresh/.keep', '');
    expect(await shape(['init', '--workspace', 'fresh'])).toEqual({
      root: 'string',
      written: ['string'],
      kept: [],
    });
  });

  test('install', async () => {
    const planned = {
      client: 'string',
      file: 'string',
      diff: 'string',
      changed: 'boolean',
      applied: 'boolean',
    };
    expect(await shape(['install', 'gemini', '--dry-run'])).toEqual(planned);
    expect(await shape(['install', 'gemini', '--yes'])).toEqual({
      ...planned,
      ...{ running: [], rewrites: 'number', environment: ['string'] },
    });
    expect(await shape(['install', 'gemini', '--undo'])).toMatchObject({ message: 'string' });
  });

  test('hub start, status, log and stop', async () => {
    // The port is opened after the hub has begun to answer.
    expect(await shape(['hub', 'start'])).toMatchObject({ ...STATUS, url: expect.any(String) });
    expect(await shape(['hub', 'status'])).toEqual(STATUS);
    expect(await shape(['hub', 'log'])).toEqual({ file: 'string', lines: ['string'] });
    expect(await shape(['hub', 'stop'])).toEqual({
      ...{ stopped: 'boolean', pid: 'number' },
      ...{ runsGoOn: 'number', callsEnd: 'number' },
    });
    expect(await shape(['hub', 'stop'])).toEqual({ stopped: 'boolean' });
    expect(await shape(['hub', 'status'])).toEqual({ running: 'boolean', home: 'string' });
  });

  test('prune', async () => {
    const counts = {
      ...{ runs: 'number', bytes: 'number', kept: 'number', saved: [] },
      ...{ days: 'number', dryRun: 'boolean' },
    };
    expect(await shape(['prune', '--dry-run'])).toEqual({ ...counts, bytes: 'null' });
    expect(await shape(['prune'])).toEqual(counts);
  });

  test('worktrees', async () => {
    expect(await shape(['worktrees', '--all'])).toEqual({ worktrees: [], strays: [] });
    expect(await shape(['worktrees', 'prune', '--all', '--dry-run'])).toEqual({
      worktrees: [],
      dryRun: 'boolean',
    });
  });

  test('any refusal', async () => {
    expect(await shape(['show', 'run_0000000000'])).toEqual({
      error: { code: 'string', kind: 'string', message: 'string', suggestions: ['string'] },
    });
  });
});

test('exit codes: done, failed, wrong use, an answer needed, a limit', async () => {
  const code = async (args: string[]) => (await squad.run(args)).code;
  squad.write('untrusted/templates/run-agent.template', 'cat');
  expect(await code(['ls'])).toBe(0);
  expect(await code(['run', 'coder', 'x\n```script\nfail\n```'])).toBe(1);
  expect(await code(['hub', 'log'])).toBe(0);
  expect(await code(['show', 'nothing'])).toBe(2);
  expect(await code(['trust', '--workspace', 'untrusted'])).toBe(3);
  await squad.run(['config', 'set', 'limits.spawns_per_minute', '1']);
  expect(await code(['run', 'coder', 'x', 'coder', 'y'])).toBe(4);
});
