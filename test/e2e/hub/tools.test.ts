import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isAlive, TestSquad, until } from '../../support/squad.ts';
import { type Refused, type Squad, startAndWait, strictCall } from '../../support/tools.ts';

const squad = new TestSquad();

beforeAll(async () => {
  squad.script('say.sh', 'printf "out of %s" "$1"; printf "err of %s" "$1" >&2; exit "$2"');
  squad.write('sub/note.txt', 'here');
  await squad.unlimited();
});
afterAll(() => squad[Symbol.asyncDispose]());

describe.each([
  { era: 'legacy', modern: false },
  { era: 'modern', modern: true },
])('the tools in the $era era', ({ era, modern }) => {
  const open = (env: Record<string, string>): Promise<Client> => squad.client({ modern, env });

  test('list_roles gives id, name and description of each role and nothing else', {
    tags: ['A1'],
  }, async () => {
    const { roles } = await strictCall<{ roles: { id: string }[] }>(await open({}), 'list_roles');
    expect(roles.map(role => role.id)).toEqual([
      'architect',
      'backend-developer',
      'coder',
      'frontend-developer',
      'planner',
      'qa-engineer',
      'reviewer',
    ]);
    expect(roles.find(role => role.id === 'qa-engineer')).toEqual({
      id: 'qa-engineer',
      name: 'QA Engineer',
      description: expect.stringMatching(/^Finds out whether something really works/),
    });
    for (const role of roles) expect(Object.keys(role)).toEqual(['id', 'name', 'description']);
  });

  test('start_squad_members returns every member in input order with its status and both streams', {
    tags: ['A2'],
  }, async () => {
    const client = await open({ RUN_TEMPLATE: './say.sh <%= roleId %> <%= task %>' });
    const result = await startAndWait(client, {
      members: [
        { roleId: 'planner', task: '0' },
        { roleId: 'architect', task: '7', cwd: '.' },
        { roleId: 'coder', task: '0', cwd: './' },
      ],
    });
    const base = { engine: 'template', memberId: expect.stringMatching(/^run_[0-9a-z]{10}$/) };
    const streams = (role: string) => ({
      rawStdout: `out of ${role}`,
      rawStderr: `err of ${role}`,
      evidence: { verdict: 'claimed', files_changed: null, tool_calls: null },
    });
    expect(result).toEqual({
      squadId: expect.stringMatching(/^squad_[0-9a-z]{10}$/),
      status: 'failed',
      members: [
        { ...base, roleId: 'planner', cwd: '.', status: 'completed', ...streams('planner') },
        {
          ...base,
          roleId: 'architect',
          cwd: '.',
          status: 'error',
          error: { code: 'ENGINE_FAILED', message: 'exit code 7', tool_name: 'start_squad_members' },
          ...streams('architect'),
        },
        { ...base, roleId: 'coder', cwd: './', status: 'completed', ...streams('coder') },
      ],
    });
  });

  test('the agent works in the folder it was given, which comes back as it was given', {
    tags: ['A9'],
  }, async () => {
    const client = await open({ RUN_TEMPLATE: 'cat note.txt' });
    const { members } = await startAndWait(client, {
      members: [{ roleId: 'coder', task: 'read it', cwd: './sub/../sub' }],
    });
    expect(members[0]).toMatchObject({ cwd: './sub/../sub', status: 'completed', rawStdout: 'here' });
  });

  test('metadata is given back by get_result and by squad show', { tags: ['A2'] }, async () => {
    const metadata = { ticket: 'A-1', nested: { list: [1, 'ü', null] } };
    const client = await open({ RUN_TEMPLATE: 'true' });
    const started = await startAndWait(client, { members: [{ roleId: 'coder', task: 'x' }], metadata });
    expect(await strictCall(client, 'get_result', { squad_id: started.squadId })).toMatchObject({ metadata });
    const shown = await squad.json<{ squad: { metadata: unknown } }>(['show', started.members[0]!.memberId]);
    expect(shown.squad.metadata).toEqual(metadata);
  });

  test('get_result of one run has every figure the engine reported', { tags: ['C2'] }, async () => {
    const client = await open({ ENGINE_COMMAND: 'scripted' });
    const task = 'Do\n```script\nusage 120 30 7 0.25\nreport All done.\n```';
    const { squadId, members } = await startAndWait(client, { members: [{ roleId: 'coder', task }] });
    expect(await strictCall(client, 'get_result', { spawn_id: members[0]!.memberId })).toEqual({
      spawn_id: members[0]!.memberId,
      squad_id: squadId,
      role_id: 'coder',
      status: 'completed',
      success: true,
      sandbox: 'off',
      result: 'All done.',
      duration_seconds: expect.any(Number),
      cost_usd: 0.25,
      model: null,
      tokens: { input: 120, output: 30, cached: 7 },
      usage_source: 'reported',
      evidence: {
        verdict: 'claimed',
        exit_code: 0,
        tool_calls: 0,
        tool_failures: 0,
        files_changed: null,
        commits: null,
        diff: null,
        leftovers_killed: 0,
        note: 'not a git repository',
      },
    });
  });

  test('get_result of a run that reports nothing says null, never zero', { tags: ['C2'] }, async () => {
    const client = await open({ RUN_TEMPLATE: './say.sh a 3' });
    const { members } = await startAndWait(client, { members: [{ roleId: 'coder', task: 'x' }] });
    expect(await strictCall(client, 'get_result', { spawn_id: members[0]!.memberId })).toMatchObject({
      status: 'error',
      success: false,
      result: 'out of a',
      cost_usd: null,
      tokens: null,
      usage_source: 'none',
      error: { code: 'ENGINE_FAILED', message: 'exit code 3' },
      evidence: { exit_code: 3, leftovers_killed: 0 },
    });
  });

  test('a call that has to answer early says so, and get_result and cancel_run continue it', {
    tags: ['A2'],
  }, async () => {
    const client = await open({ ENGINE_COMMAND: 'scripted', MCP_TOOL_TIMEOUT: '300' });
    const task = 'Wait\nfor it\n```script\nsay working\nhang\n```';
    const started = await strictCall<Squad>(client, 'start_squad_members', {
      members: [{ roleId: 'coder', task }],
    });
    expect(started).toMatchObject({
      status: 'running',
      note: expect.stringContaining(`get_result {"squad_id":"${started.squadId}"`),
      members: [{ status: expect.stringMatching(/^(running|queued)$/) }],
    });
    const { memberId } = started.members[0]!;

    const running = await until('the run is listed as running', async () => {
      const list = await strictCall<{ agents: { spawn_id: string; status: string }[]; count: number }>(
        client,
        'list_running',
      );
      expect(list.count).toBe(list.agents.length);
      return list.agents.find(agent => agent.spawn_id === memberId && agent.status === 'running');
    });
    expect(running).toEqual({
      spawn_id: memberId,
      squad_id: started.squadId,
      role_id: 'coder',
      status: 'running',
      model: null,
      started_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      elapsed_seconds: expect.any(Number),
      task_summary: 'Wait',
      workspace: squad.workspace,
      client: 'test 1',
    });
    expect(await strictCall(client, 'get_result', { spawn_id: memberId })).toMatchObject({
      status: 'running',
      success: null,
      result: null,
    });

    const { turns } = await squad.json<{ turns: { pid: number }[] }>(['show', memberId]);
    // It has to answer early too, and may be faster than the agent is gone.
    expect(await strictCall(client, 'cancel_run', { spawn_id: memberId })).toEqual({
      runs: [
        { spawn_id: memberId, status: expect.stringMatching(/^(cancelled|running)$/), was_running: true },
      ],
    });
    await until('the agent is gone', () => !isAlive(turns[0]!.pid));
    const again = await until('it has ended', async () => {
      const { runs } = await strictCall<{ runs: { was_running: boolean }[] }>(client, 'cancel_run', {
        squad_id: started.squadId,
      });
      return runs[0]!.was_running ? null : runs;
    });
    expect(again).toEqual([{ spawn_id: memberId, status: 'cancelled', was_running: false }]);
    expect(await strictCall<Squad>(client, 'get_result', { squad_id: started.squadId })).toMatchObject({
      status: 'failed',
      members: [{ status: 'cancelled' }],
    });
  });

  test('get_result waits as long as it is asked to', { tags: ['C3'] }, async () => {
    const client = await open({ ENGINE_COMMAND: 'scripted', MCP_TOOL_TIMEOUT: '30000' });
    const other = await open({ MCP_TOOL_TIMEOUT: '100' });
    const starting = strictCall<Squad>(client, 'start_squad_members', {
      members: [{ roleId: 'coder', task: `x\n\`\`\`script\nawait go-${era}\nsay went\n\`\`\``, cwd: 'sub' }],
    });
    const id = await until('the run is listed', async () => {
      const { agents } = await strictCall<{ agents: { spawn_id: string; status: string }[] }>(
        other,
        'list_running',
      );
      return agents.find(({ status }) => status === 'running')?.spawn_id;
    });
    const waiting = strictCall(client, 'get_result', { spawn_id: id, wait_seconds: 90 });
    squad.write(`sub/go-${era}`, '');
    expect(await waiting).toMatchObject({ status: 'completed', result: 'went' });
    expect(await starting).toMatchObject({ status: 'completed' });
    await squad.run(['cancel', '--all']);
  });

  test('a refusal is a result with a code, a message and a next step, not a broken call', {
    tags: ['A10', 'D7'],
  }, async () => {
    const refused = await strictCall<Refused>(await open({}), 'get_result', { spawn_id: 'run_0000000000' });
    expect(refused).toEqual({
      isError: true,
      error: {
        code: 'RUN_UNKNOWN',
        kind: 'usage',
        message: 'There is no run run_0000000000',
        suggestions: expect.arrayContaining([expect.any(String)]),
        tool_name: 'get_result',
      },
    });
  });

  test('a call all of whose runs failed is an error, and so is their result when it is read later', {
    tags: ['D7'],
  }, async () => {
    const client = await open({ RUN_TEMPLATE: './say.sh <%= roleId %> <%= task %>' });
    const start = (...tasks: string[]) =>
      startAndWait(client, { members: tasks.map(task => ({ roleId: 'coder', task })) });
    const failed = await start('3', '4');
    expect(failed).toMatchObject({ isError: true, status: 'failed' });
    const error = { code: 'ENGINE_FAILED', tool_name: 'start_squad_members' };
    expect(failed.members).toMatchObject([{ error }, { error }]);
    expect(await start('3', '0')).not.toHaveProperty('isError');
    const read = (args: object) => strictCall(client, 'get_result', { ...args });
    expect(await read({ squad_id: failed.squadId })).toMatchObject({ isError: true });
    const spawn_id = failed.members[0]!.memberId;
    expect(await read({ spawn_id })).toMatchObject({
      ...{ isError: true, status: 'error' },
      error: { code: 'ENGINE_FAILED', tool_name: 'get_result' },
    });
    expect(await read({ spawn_id, stream: 'stdout' })).not.toHaveProperty('isError');
    squad.script('hangs.sh', 'exec sleep 60');
    const slow = await open({ RUN_TEMPLATE: './hangs.sh', PROCESS_TIMEOUT_MS: '300' });
    const prompt = { prompt: 'x', include_context: false };
    const late = { code: 'TIMEOUT', message: expect.stringContaining('its time limit of 0.3 s') };
    expect(await strictCall(slow, 'spawn_agent', prompt)).toMatchObject({
      ...{ isError: true, status: 'timeout' },
      error: { ...late, tool_name: 'spawn_agent' },
    });
    const both = await strictCall(slow, 'spawn_parallel', { agents: [prompt, prompt] });
    expect(both).toMatchObject({
      isError: true,
      results: [{ status: 'timeout' }, { error: { ...late, tool_name: 'spawn_parallel' } }],
    });
  });

  test.each([
    ['neither id', {}],
    ['both ids', { spawn_id: 'run_0000000000', squad_id: 'squad_0000000000' }],
  ])('get_result and cancel_run refuse %s', async (_, ids) => {
    const client = await open({});
    for (const tool of ['get_result', 'cancel_run'])
      expect(await strictCall<Refused>(client, tool, ids)).toMatchObject({
        isError: true,
        error: { code: 'INVALID_INPUT' },
      });
  });
});

test('cancel_run takes whole ids only: the beginning of one stops nothing', async () => {
  squad.script('waits.sh', 'while [ ! -e go-on ]; do sleep 0.02; done');
  const client = await squad.client({ env: { RUN_TEMPLATE: './waits.sh' } });
  const started = await strictCall<{ spawn_id: string; squad_id: string }>(client, 'spawn_agent', {
    prompt: 'wait',
    async: true,
  });
  for (const [key, id] of Object.entries({ spawn_id: started.spawn_id, squad_id: started.squad_id })) {
    const refused = await strictCall<Refused>(client, 'cancel_run', { [key]: id.slice(0, -1) });
    expect(refused.error.suggestions).toEqual([`Did you mean ${id}?`]);
  }
  const cancelled = await strictCall(client, 'cancel_run', { spawn_id: started.spawn_id });
  expect(cancelled).toMatchObject({ runs: [{ status: 'cancelled', was_running: true }] });
});

test('a run started by one client is listed, read and cancelled by another', {
  tags: ['C3', 'F2'],
}, async () => {
  const first = await squad.client({
    name: 'first',
    env: { ENGINE_COMMAND: 'scripted', MCP_TOOL_TIMEOUT: '100' },
  });
  const second = await squad.client({ name: 'second', modern: true });
  const { members } = await strictCall<Squad>(first, 'start_squad_members', {
    members: [{ roleId: 'coder', task: 'x\n```script\nhang\n```' }],
  });
  const id = members[0]!.memberId;
  const { agents } = await strictCall<{ agents: { spawn_id: string }[] }>(second, 'list_running');
  expect(agents.map(agent => agent.spawn_id)).toContain(id);
  await strictCall(second, 'cancel_run', { spawn_id: id });
  expect(await strictCall(first, 'get_result', { spawn_id: id })).toMatchObject({ status: 'cancelled' });
});

interface Listed {
  agents: { spawn_id: string; workspace: string; client: string; role_id: string | null }[];
  count: number;
  recent?: { spawn_id: string; role_id: string; status: string; ended_seconds_ago: number }[];
  note?: string;
}

test('list_running and cancel_run {all} are about the workspace of their caller, unless it says everywhere', {
  tags: ['C3'],
}, async () => {
  const other = join(squad.root, 'other');
  mkdirSync(other);
  squad.script('stays.sh', 'exec sleep 60');
  const env = { RUN_TEMPLATE: join(squad.workspace, 'stays.sh') };
  const here = await squad.client({ name: 'one', env });
  const there = await squad.client({ name: 'two', env, cwd: other });
  const start = async (client: Client) =>
    (
      await strictCall<{ spawn_id: string }>(client, 'spawn_agent', {
        prompt: 'x',
        roleId: 'coder',
        async: true,
      })
    ).spawn_id;
  const [mine, theirs] = [await start(here), await start(there)];

  const listed = await strictCall<Listed>(here, 'list_running');
  expect(listed.agents).toEqual([
    expect.objectContaining({
      spawn_id: mine,
      workspace: squad.workspace,
      client: 'one 1',
      role_id: 'coder',
    }),
  ]);
  expect(listed).toMatchObject({ count: 1, note: expect.stringContaining('1 more in other workspaces') });
  const everywhere = await strictCall<Listed>(here, 'list_running', { everywhere: true });
  expect(everywhere.agents.map(({ workspace }) => workspace).sort()).toEqual([other, squad.workspace].sort());

  const cancelled = (client: Client, args: object) =>
    strictCall<{ runs: { spawn_id: string }[] }>(client, 'cancel_run', { ...args });
  expect((await cancelled(here, { all: true })).runs.map(({ spawn_id }) => spawn_id)).toEqual([mine]);
  expect(await squad.statusOf(theirs)).toBe('running');
  expect(await cancelled(here, { spawn_id: theirs, everywhere: true })).toMatchObject({ isError: true });
  expect(await cancelled(here, { all: true })).toMatchObject({
    runs: [],
    note: expect.stringMatching(`1 in other workspaces \\(${other}\\).*everywhere`),
  });
  const { stdout } = await squad.run(['cancel', '--all']);
  expect(stdout).toMatch(/^No runs are running in this workspace\.\n.*everywhere/);

  // The one whose run it was learns who cancelled it, and from where.
  expect((await cancelled(here, { all: true, everywhere: true })).runs).toMatchObject([{ spawn_id: theirs }]);
  const result = await strictCall<{ note: string }>(there, 'get_result', { spawn_id: theirs });
  expect(result).toMatchObject({
    status: 'cancelled',
    note: expect.stringContaining(`Cancelled by one 1 in ${squad.workspace}.`),
  });
});

test('runs that have ended are found by tool, and an unknown id is answered with the newest', {
  tags: ['C3'],
}, async () => {
  const client = await squad.client({ env: { RUN_TEMPLATE: './say.sh <%= roleId %> <%= task %>' } });
  const { members } = await startAndWait(client, { members: [{ roleId: 'coder', task: '0' }] });
  const id = members[0]!.memberId;
  const { recent } = await strictCall<Listed>(client, 'list_running', { recent: true });
  expect(recent![0]).toMatchObject({
    spawn_id: id,
    role_id: 'coder',
    status: 'completed',
    workspace: squad.workspace,
  });
  expect(recent![0]!.ended_seconds_ago).toBeGreaterThanOrEqual(0);
  expect(recent!.length).toBeLessThanOrEqual(10);
  const refused = await strictCall<Refused>(client, 'get_result', { spawn_id: 'run_0000000000' });
  expect(refused.error.suggestions).toEqual([
    expect.stringContaining(`The newest: ${id} (coder, completed, in ${squad.workspace})`),
    expect.stringContaining('list_running {"recent": true}'),
  ]);
});
