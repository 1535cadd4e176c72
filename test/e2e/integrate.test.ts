import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { IntegrationPlan } from '../../src/schema/integration.ts';
import type { Worktree } from '../../src/schema/worktree.ts';
import { GitSquad, script } from '../support/git-squad.ts';
import { BIN } from '../support/squad.ts';

const command = `${process.execPath} ${BIN}`;
const squad = new GitSquad({ coder: '---\nisolation: worktree\n---\nYou code.' });
beforeAll(() => squad.unlimited());
afterAll(() => squad[Symbol.asyncDispose]());

interface Answer {
  plan: IntegrationPlan;
  integrated: { to: string; merged: { runId: string }[] } | null;
}

/** Runs that write these files, each in a work tree of its own, all over. */
async function coders(...writes: [file: string, text: string][]): Promise<string[]> {
  const words = writes.flatMap(([file, text]) => [
    'coder',
    `Write ${file}.${script(`write ${file}`, `| ${text}`)}`,
  ]);
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', ...words]);
  await squad.run(['wait', ...runIds]);
  return runIds;
}
const treeOf = async (id: string) =>
  (await squad.json<{ run: { worktree: Worktree } }>(['show', id])).run.worktree;

test('branches of runs are looked at for overlap, tried, checked and merged', async () => {
  const before = squad.git('rev-parse', 'main');
  expect((await squad.run(['overlap'])).stdout).toContain('No overlap');
  const [one, other, alone] = await coders(
    ['shared.txt', 'one'],
    ['shared.txt', 'other'],
    ['alone.txt', 'x'],
  );
  const overlap = await squad.run(['overlap']);
  expect(overlap.stdout).toMatch(/shared\.txt\s/);
  expect([one!, other!].every(id => overlap.stdout.includes(id))).toBe(true);
  expect(overlap.stdout).not.toContain(alone!);

  const dry = await squad.run(['integrate', '--dry-run', '--check', 'exit 1']);
  expect(dry).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/conflicts in shared\.txt[\s\S]*– check passed/),
  });
  const refused = await squad.run(['integrate', '--yes', '--check', 'ls; exit 9']);
  expect(refused).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('alone.txt'),
    stderr: expect.stringContaining('CHECK_FAILED'),
  });
  expect(await squad.run(['integrate'])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('ANSWER_NEEDED'),
  });
  expect(squad.git('rev-parse', 'main')).toBe(before);

  const done = await squad.run(['integrate', '--yes', '--remove', '--json', '--check', 'test -f alone.txt']);
  const { plan, integrated } = JSON.parse(done.stdout) as Answer;
  expect(done.code).toBe(1); // one is left out
  expect(plan.branches.map(({ outcome }) => outcome).sort()).toEqual(['conflict', 'merges', 'merges']);
  expect(plan.branches[0]).toMatchObject({ runId: alone, commitsWork: true });
  expect(squad.git('rev-parse', 'main')).toBe(integrated?.to);
  expect(squad.git('status', '--porcelain')).toBe('');
  expect(readFileSync(join(squad.workspace, 'alone.txt'), 'utf8')).toBe('x\n');
  expect(existsSync((await treeOf(alone!)).path)).toBe(false);
});

test('agents may neither plan nor merge', async () => {
  const before = squad.git('rev-parse', 'main');
  const { runIds } = await squad.json<{ runIds: string[] }>([
    ...[
      'run',
      '-d',
      'coder',
      `Write.${script('write late.txt', '| late', `try ${command} integrate --yes`, `try ${command} overlap`)}`,
    ],
  ]);
  await squad.run(['wait', ...runIds]);
  const { result } = await squad.json<{ result: { result: string } }>(['show', ...runIds]);
  expect(result.result.match(/\(NOT_ALLOWED\)/g)).toHaveLength(2);
  expect(squad.git('rev-parse', 'main')).toBe(before);
});
