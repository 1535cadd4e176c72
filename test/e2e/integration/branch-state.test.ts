import { afterAll, beforeAll, expect, test } from 'vitest';
import { GitSquad, script } from '../../support/git-squad.ts';
import { until } from '../../support/squad.ts';

const squad = new GitSquad({ coder: '---\nisolation: worktree\n---\nYou code.', tester: 'You test.' });
beforeAll(() => squad.unlimited());
afterAll(() => squad[Symbol.asyncDispose]());

interface Listed {
  id: string;
  status: string;
  branchState: 'ready' | 'merged' | null;
  worktree: { branch: string } | null;
}

async function ended(role: string, ...lines: string[]): Promise<string> {
  const { runIds } = await squad.json<{ runIds: [string] }>(['run', '-d', role, `Do it.${script(...lines)}`]);
  await squad.run(['wait', runIds[0]]);
  return runIds[0];
}
const listed = async (id: string) =>
  (await squad.json<{ runs: Listed[] }>(['ls', '--limit', '50'])).runs.find(run => run.id === id)!;
const stateOf = async (id: string) => (await listed(id)).branchState;
const line = async (id: string) =>
  (await squad.run(['ls', '--limit', '50'])).stdout.split('\n').find(each => each.includes(id));

test('a branch is ready to merge until git or Squad has merged it, and the status stays completed', async () => {
  const [committed, uncommitted, nothing, elsewhere, failed] = [
    await ended('coder', 'write a.txt', '| a', 'run git add -A', 'run git commit -qm a'),
    await ended('coder', 'write b.txt', '| b'),
    await ended('coder', 'report Nothing to do.'),
    await ended('tester', 'write c.txt', '| c'),
    await ended('coder', 'write d.txt', '| d', 'fail no'),
  ];
  expect(await Promise.all([committed, uncommitted, nothing, elsewhere, failed].map(stateOf))).toEqual([
    ...['ready', 'ready', null, null, null],
  ]);
  expect(await line(committed)).toContain('ready to merge');
  expect(await line(nothing)).toContain('done');
  squad.git('add', '-A');
  squad.git('commit', '-qm', 'By hand');

  squad.git('merge', '-q', '--no-edit', (await listed(committed)).worktree!.branch);
  await until('the merge in a terminal is seen', async () => (await stateOf(committed)) === 'merged');
  expect(await squad.run(['integrate', '--yes', uncommitted])).toMatchObject({ code: 0 });
  expect(await listed(uncommitted)).toMatchObject({ status: 'completed', branchState: 'merged' });
  expect(await line(uncommitted)).toContain('merged');
  expect((await squad.run(['show', uncommitted])).stdout).toMatch(/done, merged/);

  // Squad remembers its own merges; of a branch that somebody else deleted nothing is known.
  for (const id of [committed, uncommitted]) {
    const { branch } = (await listed(id)).worktree!;
    squad.git(
      'worktree',
      'remove',
      '--force',
      squad
        .git('worktree', 'list')
        .split('\n')
        .find(each => each.includes(branch))!
        .split(' ')[0]!,
    );
    squad.git('branch', '-qD', branch);
  }
  await until('the branch is gone', async () => (await stateOf(committed)) === null);
  expect(await stateOf(uncommitted)).toBe('merged');
});

test('a branch belongs to the last run in its work tree', async () => {
  const first = await ended('coder', 'write e.txt', '| e');
  const { runIds } = await squad.json<{ runIds: [string] }>([
    'reply',
    '-d',
    first,
    `More.${script('report ok')}`,
  ]);
  await squad.run(['wait', runIds[0]]);
  expect(await stateOf(first)).toBeNull();
  expect(await stateOf(runIds[0])).toBe('ready');
});
