import { describe, expect, test } from 'vitest';
import { GitHubServer } from '../../servers/github/server.ts';
import { dyingHub, intentsOf } from '../../support/die-at.ts';
import { GitSquad, script } from '../../support/git-squad.ts';
import { until } from '../../support/squad.ts';

/** The hub is killed between two steps of a pull request, another one comes, and whoever asked asks again. */
const OPEN = `insist create_pull_request ${JSON.stringify({ title: 'Say one', description: 'Because.' })}`;
const ROLES = {
  coder: '---\ntype: coding\nisolation: worktree\n---\nYou code.',
  reviewer: `---\ntype: review\n---\nYou review.${script('follow review.script')}`,
};
/** REVIEW_FEEDBACK.md stands for feedback of an earlier round. The pull request must not contain it. */
const WORK = ['write feature.txt', '| one', 'write REVIEW_FEEDBACK.md', '| Fix it.'];
const BY_CODER = script(...WORK, OPEN, 'report Opened.');
const BY_REVIEWER = script(
  ...WORK,
  ...['write review.script', `| ${OPEN}`, 'insist request_review {}', 'report Opened.'],
);
/** Up to the push both go the same way. */
const ASKERS: [asker: string, task: string, steps: number[]][] = [
  ['coder', BY_CODER, [1, 2, 3, 4, 5]],
  ['reviewer', BY_REVIEWER, [2, 4, 5]],
];

interface Shown {
  run: { status: string; turn: number; worktree: { branch: string; path: string } };
}

describe.each(ASKERS)('a pull request of the %s', (asker, task, steps) => {
  test.each(steps)(
    'is opened once, when the hub is killed after step %i',
    { tags: ['D10', 'D4'] },
    async step => {
      await using github = await GitHubServer.start();
      const host = github.addRepository('octo', 'demo');
      await using squad = new GitSquad(ROLES, { GITHUB_TOKEN: github.token, GITHUB_API_URL: github.apiUrl });
      squad.git('push', '-q', host.folder, 'main');
      squad.git('remote', 'add', 'origin', host.httpUrl);
      const hub = await dyingHub(squad, `create_pull_request:${step}`);
      const { runIds } = await squad.json<{ runIds: [string] }>(['run', '-d', 'coder', `Build it.${task}`]);
      expect(await hub.died).toBe('SIGKILL');
      await squad.hubPid();
      await squad.run(['wait', runIds[0]]);

      const { run } = await squad.json<Shown>(['show', runIds[0]]);
      const { branch, path } = run.worktree;
      expect(run).toMatchObject({ status: 'completed', turn: 1 });
      expect(github.pulls).toMatchObject([{ head: branch, title: 'Say one' }]);
      expect(host.files(branch)).not.toContain('REVIEW_FEEDBACK.md');
      expect(host.tip(branch)).toBe(squad.git('rev-parse', branch));
      expect(squad.gitIn(path, 'status', '--porcelain')).toBe('');
      expect(await intentsOf(squad)).toEqual([]);
      if (asker === 'coder') return;
      const { reviews } = await squad.json<{ reviews: { outcome: string; reviewerId: string }[] }>([
        'review',
        runIds[0],
      ]);
      expect(reviews.map(({ outcome }) => outcome)).toEqual(['pull_request']);
      const { reviewerId } = reviews[0]!;
      await until('the reviewer has ended', async () => (await squad.statusOf(reviewerId)) !== 'running');
    },
  );
});
