import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Run } from '../../../src/schema/run.ts';
import { GitSquad, script } from '../../support/git-squad.ts';

const squad = new GitSquad({
  coder: '---\nisolation: worktree\n---\nYou code.',
  lead: '---\nisolation: worktree\nspawn: true\n---\nYou lead.',
});
const outside = join(squad.root, 'outside.txt');

beforeAll(async () => {
  await squad.unlimited();
  await squad.run(['config', 'set', 'sandbox.default', 'worktree']);
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
  test('is sandboxed if that is the default: it writes and commits in its folder, and the rest is not there', async () => {
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

test('without the setting a run in a work tree is not sandboxed', async () => {
  await squad.run(['config', 'set', 'sandbox.default', 'off']);
  const { run } = await ran(['coder'], `run cat ${outside}`);
  await squad.run(['config', 'set', 'sandbox.default', 'worktree']);
  expect(run.options.sandbox.level).toBe('off');
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
