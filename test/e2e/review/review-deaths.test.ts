import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { dyingHub, intentsOf } from '../../support/die-at.ts';
import { GitSquad, script, scriptOf } from '../../support/git-squad.ts';
import { until } from '../../support/squad.ts';

/** The hub is killed between two steps of the loop, another one comes, and everybody asks again. */
const ROLES = {
  coder: '---\ntype: coding\nisolation: worktree\n---\nYou code.',
  reviewer: `---\ntype: review\n---\nYou review.${script('follow review.script')}`,
};
const FEEDBACK = `insist send_feedback ${JSON.stringify({ feedback: 'Say two.', feedback_type: 'needs_work' })}`;
const TASK = `Build it.${script(
  'write feature.txt',
  '| one',
  'write review.script',
  `| ${FEEDBACK}`,
  'insist request_review {}',
)}${scriptOf(2, 'run cat REVIEW_FEEDBACK.md', 'report Told.')}`;

interface Shown {
  run: { status: string; turn: number; error: unknown; worktree: { path: string; branch: string } };
  result: { result: string };
}

describe('the hub is killed', () => {
  test.each([
    'request_review:1',
    'request_review:2',
    'request_review:3',
    'request_review:4',
    'send_feedback:1',
    'send_feedback:2',
    'send_feedback:3',
  ])('at %s, and the loop ends as if it had not been', { tags: ['D10'] }, async point => {
    await using squad = new GitSquad(ROLES);
    const hub = await dyingHub(squad, point);
    const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', TASK]);
    const id = runIds[0]!;
    expect(await hub.died).toBe('SIGKILL');
    await squad.hubPid();
    await squad.run(['wait', id]);

    const { run, result } = await squad.json<Shown>(['show', id]);
    expect(result.result).toBe('Told.');
    expect(run).toMatchObject({ status: 'completed', turn: 2, error: null });
    const { reviews } = await squad.json<{ reviews: { reviewerId: string; outcome: string }[] }>([
      'review',
      id,
    ]);
    expect(reviews.map(({ outcome }) => outcome)).toEqual(['needs_work']);

    const { branch, path } = run.worktree;
    const log = squad.git('log', '--format=%s', `main..${branch}`).split('\n');
    expect(log).toHaveLength(2);
    expect(readFileSync(join(path, 'REVIEW_FEEDBACK.md'), 'utf8')).toContain('Say two.');
    expect(squad.gitIn(path, 'status', '--porcelain')).toBe('');
    expect(squad.git('status', '--porcelain')).toBe('');
    squad.git('fsck', '--strict');

    const own = [`.git-${basename(path)}`, basename(path)];
    await until('what the reviewer had is gone', () => trees(squad).sort().join() === own.join());
    // A branch is removed after its work tree.
    const branches = () => squad.git('branch', '--list', 'squad/*').split('\n');
    await until('the branch of the reviewer is gone', () => branches().length === 1);
    expect(squad.git('worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(2);
    await until('nothing is left to do', async () => (await intentsOf(squad)).length === 0);
  });

  test('while a task is given up, and it is given up', async () => {
    await using squad = new GitSquad(ROLES);
    const hub = await dyingHub(squad, 'abandon:1');
    const task = TASK.replace(FEEDBACK, 'hang');
    const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', task]);
    const id = runIds[0]!;
    await until('it waits for its reviewer', async () => (await squad.statusOf(id)) === 'waiting_review');
    await squad.run(['review', id, '--abandon']);
    expect(await hub.died).toBe('SIGKILL');
    await squad.hubPid();
    await squad.run(['wait', id]);
    const { run } = await squad.json<Shown>(['show', id]);
    expect(run).toMatchObject({ status: 'abandoned', turn: 1 });
    await until('all work trees are gone', () => trees(squad).length === 0);
    await until('nothing is left to do', async () => (await intentsOf(squad)).length === 0);
  });
});

/** The folders of work trees there are, with those of their agents' Git. */
function trees(squad: GitSquad): string[] {
  const folder = join(squad.home, 'worktrees');
  return existsSync(folder) ? readdirSync(folder).flatMap(name => readdirSync(join(folder, name))) : [];
}
