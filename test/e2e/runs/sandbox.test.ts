import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Run } from '../../../src/schema/run.ts';
import { GitSquad, script } from '../../support/git-squad.ts';
import { callTool, until } from '../../support/squad.ts';

const squad = new GitSquad({
  coder: '---\nisolation: worktree\n---\nYou code.',
  lead: '---\nisolation: worktree\nspawn: true\n---\nYou lead.',
});
const outside = join(squad.root, 'outside.txt');

beforeAll(async () => {
  await squad.unlimited();
  writeFileSync(outside, 'a secret');
});
afterAll(() => squad[Symbol.asyncDispose]());

interface Shown {
  run: Pick<
    Run,
    'id' | 'status' | 'options' | 'policy' | 'notes' | 'chatId' | 'evidence' | 'error' | 'directory'
  >;
  result: { result: string; sandbox: string };
}
async function ran(args: string[], ...steps: string[]): Promise<Shown> {
  const { runIds } = await squad.json<{ runIds: [string] }>([
    'run',
    '-d',
    ...args,
    `Do it.${script(...steps)}`,
  ]);
  await squad.run(['wait', runIds[0]]);
  return squad.shown<Shown>(runIds[0]);
}

describe('a run in a work tree', { tags: ['I1', 'I4'] }, () => {
  test('is sandboxed by default: it writes and commits in its folder, and the rest is not there', async () => {
    const { run, result } = await ran(
      ['coder'],
      'write a.txt',
      '| a',
      'run git add -A && git commit -qm "a commit"',
      `try cat ${outside}`,
      `try touch ${join(squad.root, 'made')}`,
      `run ls ${squad.home} && echo home:$(ls ${squad.home} | tr "\\n" ,)`,
      'run test ! -e hub.sock && echo "$HOME" && touch "$HOME/mine"',
      'call squad_status',
    );
    expect(run).toMatchObject({
      status: 'completed',
      options: { sandbox: { level: 'workspace', network: 'full' } },
    });
    expect(result.sandbox).toBe('workspace');
    expect(result.result).not.toContain('a secret');
    expect(result.result).not.toContain('squad.db');
    expect(existsSync(join(squad.root, 'made'))).toBe(false);
    expect(run.evidence?.commits?.newest[0]?.subject).toBe('a commit');
    expect(run.policy.find(({ rule }) => rule === 'sandbox: workspace')?.heldBy).toBe('system');
    const { stdout } = await squad.run(['ls']);
    expect(stdout).toContain('scripted [workspace]');
    expect((await squad.run(['show', run.id])).stdout).toMatch(/sandbox +workspace/);
  });

  test('continues its chat with the same HOME', async () => {
    const first = await ran(['coder'], 'run echo kept > "$HOME/note"');
    expect(first.run.status).toBe('completed');
    const { runIds } = await squad.json<{ runIds: [string] }>([
      ...['reply', '-d', first.run.id, `Go on.${script('run cat "$HOME/note"')}`],
    ]);
    await squad.run(['wait', runIds[0]]);
    const { run, result } = await squad.shown<Shown>(runIds[0]);
    expect(run.options.sandbox.level).toBe('workspace');
    expect(result.result).toContain('kept');
  });

  test('with permission read it can change nothing', async () => {
    const { run } = await ran(['--permission', 'read', 'coder'], 'try touch b.txt', 'run test ! -e b.txt');
    expect(run).toMatchObject({ status: 'completed' });
    expect(run.policy.find(({ rule }) => rule === 'permission: read')).toMatchObject({ heldBy: 'system' });
  });

  test('is not sandboxed if the call says so', async () => {
    const { run, result } = await ran(['--sandbox', 'off', 'coder'], `run cat ${outside}`);
    expect(run.options.sandbox.level).toBe('off');
    expect(result.result).toContain('a secret');
  });

  test('a run that it starts is confined like it, and cannot be given less', async () => {
    const child = { roleId: 'coder', task: `Do it.${script(`try cat ${outside}`)}` };
    const { result } = await ran(
      ['lead'],
      `call start_squad_members ${JSON.stringify({ members: [child] })}`,
      `call start_squad_members ${JSON.stringify({ members: [{ ...child, sandbox: 'off' }] })}`,
    );
    expect(result.result).not.toContain('a secret');
    const { runs } = await squad.json<{ runs: Run[] }>(['ls', '--limit', '2']);
    const started = runs.filter(({ parentId }) => parentId !== null);
    expect(started.map(({ options }) => options.sandbox.level)).toEqual(['workspace']);
  });
});

test('an engine that takes over at a usage limit works in the same sandbox', {
  tags: ['I1', 'G5'],
}, async () => {
  const told = squad.script('bin/told.sh', 'cat half.txt; echo whole > whole.txt; cat "$1" || true');
  squad.write(
    '.squad/squad.json',
    JSON.stringify({ engines: { second: { runTemplate: `${told} ${outside}` } } }),
  );
  expect((await squad.run(['trust', '-y'])).code).toBe(0);
  squad.role(
    'chain',
    '---\nisolation: worktree\nengine: [scripted, second]\nsandbox: workspace\n---\nYou code.',
  );
  const { run, result } = await ran(['chain'], 'write half.txt', '| half', 'limit');
  expect(run).toMatchObject({
    ...{ status: 'completed', options: { sandbox: { level: 'workspace' }, attempt: { number: 2 } } },
  });
  expect(run.policy.find(({ rule }) => rule === 'sandbox: workspace')?.heldBy).toBe('system');
  expect(result).toMatchObject({ sandbox: 'workspace', result: expect.stringContaining('half') });
  expect(result.result).not.toContain('a secret');
  expect(readFileSync(join(run.directory, 'whole.txt'), 'utf8')).toBe('whole\n');
});

test('the setting turns the default off, and what is asked for stays', async () => {
  await squad.run(['config', 'set', 'sandbox.default', 'off']);
  const { run } = await ran(['coder'], `run cat ${outside}`);
  const asked = await ran(['--sandbox', 'workspace', 'coder'], `try cat ${outside}`);
  await squad.run(['config', 'set', 'sandbox.default', 'worktree']);
  expect(run.options.sandbox.level).toBe('off');
  expect(asked.run.options.sandbox.level).toBe('workspace');
});

test('spawn_parallel takes a level for each agent', { tags: ['I1'] }, async () => {
  const client = await squad.client();
  const prompt = `Do it.${script(`try cat ${outside}`)}`;
  const { results } = await callTool<{ results: { sandbox: string; result: string }[] }>(
    client,
    'spawn_parallel',
    {
      agents: [
        { prompt, isolation: 'worktree' },
        { prompt, isolation: 'worktree', sandbox: 'off' },
        { prompt, isolation: 'none', sandbox: 'workspace' },
      ],
    },
  );
  expect(results.map(({ sandbox }) => sandbox)).toEqual(['workspace', 'off', 'workspace']);
  expect(results.map(({ result }) => result.includes('a secret'))).toEqual([false, true, false]);
});

describe('a run in a plain folder', { tags: ['I1'] }, () => {
  test('is not sandboxed by default, and is if asked', async () => {
    const plain = await ran(['--no-worktree', 'coder'], `run cat ${outside}`);
    expect(plain.run.options.sandbox.level).toBe('off');
    const asked = await ran(
      ['--no-worktree', '--sandbox', 'workspace', 'coder'],
      'write c.txt',
      '| c',
      `try cat ${outside}`,
      'try touch .git/hooks/pre-commit',
    );
    expect(asked.run).toMatchObject({ status: 'completed' });
    expect(asked.result.result).not.toContain('a secret');
    expect(readFileSync(join(squad.workspace, 'c.txt'), 'utf8')).toContain('c');
    expect(existsSync(join(squad.workspace, '.git/hooks/pre-commit'))).toBe(false);
  });
});

test('strict with the full network is refused before anything starts', { tags: ['I2'] }, async () => {
  const refused = await squad.run(['run', '--sandbox', 'strict', '--network', 'full', 'coder', 'Do it.']);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('network: full');
});

test('the command at the end of a run is not the one that the agent has written', {
  tags: ['leaving-the-sandbox'],
}, async () => {
  await using own = new GitSquad({ coder: '---\nisolation: worktree\n---\nYou code.' });
  const hook = (text: string) => `#!/bin/sh\necho ${text} >"${own.root}/told"\n`;
  own.write('hook.sh', hook('users'));
  own.git('add', '-A');
  own.git('commit', '-qm', 'Hook');
  const config = join(own.env.HOME!, '.config/squad/config.json');
  mkdirSync(dirname(config), { recursive: true });
  writeFileSync(config, JSON.stringify({ onEnd: ['sh', 'hook.sh'] }));
  const lines = hook('agents').trim().split('\n');
  const steps = ['write hook.sh', ...lines.map(line => `| ${line}`)];
  expect((await own.run(['run', 'coder', `Do it.${script(...steps)}`])).code).toBe(0);
  const told = join(own.root, 'told');
  await until('the command has run', () => existsSync(told) && readFileSync(told, 'utf8') !== '');
  expect(readFileSync(told, 'utf8').trim()).toBe('users');
});

test("the set-up of a work tree that starts from an agent's branch runs in the sandbox of its run", {
  tags: ['leaving-the-sandbox'],
}, async () => {
  await using own = new GitSquad({
    lead: '---\nisolation: worktree\nspawn: true\n---\nYou lead.',
    coder: '---\nisolation: worktree\n---\nYou code.',
    reader: '---\nisolation: worktree\npermission: read\nsandbox: strict\n---\nYou read.',
  });
  const made = join(own.root, 'made');
  writeFileSync(join(own.root, 'outside.txt'), 'a secret');
  own.write('setup.sh', 'echo users > seen\n');
  own.write('.squad/squad.json', JSON.stringify({ worktree: { setup: ['sh', 'setup.sh'] } }));
  own.git('add', '-A');
  own.git('commit', '-qm', 'Set-up');
  await own.run(['trust', '--yes']);
  const task = `Do it.${script('run cat seen', 'run cat "$HOME/by-setup"', 'try touch mine')}`;
  const members = ['coder', 'reader'].map(roleId => ({ roleId, task }));
  const steps = [
    ...['run cat seen', 'write setup.sh', `| touch ${made}`, `| cat ${join(own.root, 'outside.txt')} > seen`],
    ...['| git log -1 --format=by:%s >> seen', '| echo kept > "$HOME/by-setup"'],
    ...['run git commit -qam agents', `call start_squad_members ${JSON.stringify({ members })}`],
  ];
  const lead = await own.run(['run', 'lead', `Do it.${script(...steps)}`]);
  expect(lead.stdout).toContain('users');
  const { runs } = await own.json<{ runs: Run[] }>(['ls', '--limit', '3']);
  const started = runs.filter(({ parentId }) => parentId !== null);
  expect(started).toHaveLength(2);
  for (const { id } of started) await own.run(['wait', id]);
  expect(existsSync(made)).toBe(false);
  for (const { id } of started) {
    const { run } = await own.shown<Shown>(id);
    expect(run).toMatchObject({ status: 'completed', error: null });
    const { stdout } = await own.run(['log', id]);
    expect(stdout).toContain('by:agents');
    expect(stdout).toContain('kept');
    expect(stdout).not.toContain('a secret');
  }
});
