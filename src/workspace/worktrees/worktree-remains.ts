import type { Remains } from '../../core/ports/worktrees.ts';
import { savedRefOf, type Worktree } from '../../schema/worktree.ts';
import { GitTrouble } from '../git/git.ts';
import { gitFailure, runPatiently } from '../git/git-patience.ts';
import type { WorktreeTools } from './worktree-ensure.ts';
import { lookAt } from './worktree-place.ts';
import { repositoryOf } from './worktree-repository.ts';

type Environment = Record<string, string | undefined>;

export async function remainsOf(worktree: Worktree, env: Environment): Promise<Remains> {
  const repository = await repositoryOf(worktree, env);
  if (!repository) return { isThere: false, tip: null, saved: [] };
  const { kind } = await lookAt(worktree.path, repository.commonDir);
  const branch = `refs/heads/${worktree.branch}`;
  const saved = savedRefOf(worktree);
  const format = ['--sort=version:refname', '--format=%(objectname) %(refname)'];
  const list = await repository.git
    .run(['for-each-ref', ...format, branch, saved, `${saved}-*`])
    .catch(trouble => {
      throw gitFailure(`What is left of ${worktree.branch} cannot be told`, trouble);
    });
  const refs = String(list)
    .split('\n')
    .filter(line => line !== '')
    .map(line => ({ commit: line.split(' ', 1)[0]!, name: line.slice(line.indexOf(' ') + 1) }));
  return {
    isThere: kind === 'whole',
    tip: refs.find(({ name }) => name === branch)?.commit ?? null,
    saved: refs.filter(({ name }) => name !== branch).map(({ name }) => name),
  };
}

/** Only where there is none, and only at a commit that is really there. */
export async function restoreBranch(
  worktree: Worktree,
  commit: string,
  { env, queue }: WorktreeTools,
): Promise<boolean> {
  const repository = await repositoryOf(worktree, env);
  if (!repository) return false;
  const { git, commonDir } = repository;
  const isThere = await git.run(['cat-file', '-e', `${commit}^{commit}`]).then(
    () => true,
    trouble => {
      if (trouble instanceof GitTrouble) return false;
      throw trouble;
    },
  );
  if (!isThere) return false;
  const none = '0'.repeat(commit.length);
  await queue(commonDir, () =>
    runPatiently(git, ['update-ref', `refs/heads/${worktree.branch}`, commit, none]),
  ).catch(trouble => {
    throw gitFailure(`Branch ${worktree.branch} could not be put back`, trouble);
  });
  return true;
}
