import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type { BranchTip, Integration, Target, Touched } from '../../core/ports/integration.ts';
import { SquadError } from '../../schema/error.ts';
import { FEEDBACK_FILE } from '../../schema/review.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { eachOf } from '../files/file-stamp.ts';
import { pathText, splitPaths } from '../files/paths.ts';
import { branchTip, committer, readRefs } from '../git/commits.ts';
import { type Git, GitError, gitFailure, openGit, runWithLockRetry } from '../git/git.ts';
import { PLAIN_DIFF, readStatus } from '../git/git-status.ts';
import { folderFit } from './folder-fit.ts';
import { moveTarget, settleMove } from './move-target.ts';
import { hiddenInMerge, trialMerge } from './trial-merge.ts';

type Environment = Record<string, string | undefined>;

/** Files that a work tree has changed since it left its base branch, by two git processes in parallel. Never rejects. */
export async function touchedFiles(worktree: Worktree, env: Environment): Promise<Touched> {
  try {
    const isThere = existsSync(worktree.path);
    const git = await openGit(isThere ? worktree.path : worktree.repository, env);
    const [committed, uncommitted] = await Promise.all([
      committedFiles(git, worktree, isThere ? 'HEAD' : `refs/heads/${worktree.branch}`),
      isThere ? uncommittedFiles(git) : [],
    ]);
    const files = new Set([...committed, ...uncommitted]);
    // It is left out when the branch is merged.
    files.delete(FEEDBACK_FILE);
    return { files: [...files].sort(), why: null };
  } catch (error) {
    if (error instanceof GitError) return { files: null, why: error.message };
    return { files: null, why: `the folder could not be read (${(error as Error).message})` };
  }
}

/** Files that the branch changed since it left its base, without those of commits that it merged from the base. */
async function committedFiles(git: Git, { base, baseBranch }: Worktree, tip: string): Promise<string[]> {
  const since = async (from: string) => {
    return splitPaths(await git.run([...PLAIN_DIFF, '--name-only', '-z', `${from}...${tip}`, '--'])).map(
      pathText,
    );
  };
  if (baseBranch === null) return since(base);
  return since(`refs/heads/${baseBranch}`).catch(error => {
    // Somebody may have removed that branch; the base commit is still there.
    if (error instanceof GitError && error.exitCode === 128) return since(base);
    throw error;
  });
}

/** In one thread: several work trees are read at once, and more threads would only be in each other's way. */
async function uncommittedFiles(git: Git): Promise<string[]> {
  const { entries } = await readStatus(git, {}, ['-c', 'core.preloadIndex=false']);
  return entries.map(({ path }) => pathText(path));
}

/** Each work tree takes two git processes, and each of those most of a core. */
const AT_ONCE = Math.max(2, availableParallelism());

export function createIntegration(env: Record<string, string | undefined> = process.env): Integration {
  const within = async <T>(repository: string, work: (git: Git) => Promise<T>): Promise<T> => {
    try {
      return await work(await openGit(repository, env));
    } catch (error) {
      throw gitFailure(`Git failed on the branches of ${repository}`, error);
    }
  };
  return {
    touched: worktrees => eachOf(worktrees, worktree => touchedFiles(worktree, env), AT_ONCE),
    tips: (repository, into) => within(repository, git => readTips(git, into)),
    target: (repository, branch) => within(repository, git => readTarget(git, branch)),
    trial: (repository, onto, branches, signal) =>
      within(repository, async git => trialMerge(git, onto, branches, await committer(git, env), signal)),
    fit: async move => {
      const hidden = await within(move.repository, git => hiddenInMerge(git, move.from, move.to));
      const { obstacles, warnings } =
        move.folder === null
          ? { obstacles: [], warnings: [] }
          : await within(move.folder, git => folderFit(git, move));
      return { obstacles, warnings: [...warnings, ...hidden] };
    },
    move: (move, checkpoint) => within(move.repository, () => moveTarget(move, env, checkpoint)),
    settle: move => within(move.repository, () => settleMove(move, env)),
    dropRef: (repository, ref) =>
      within(repository, async git => void (await runWithLockRetry(git, ['update-ref', '-d', ref]))),
  };
}

async function readTips(git: Git, into: string | null): Promise<Map<string, BranchTip>> {
  const target = into === null ? null : await branchTip(git, into);
  const [all, open] = await Promise.all([
    readRefs(git, 'refs/heads/squad/'),
    target === null ? null : readRefs(git, `--no-merged=${target}`, 'refs/heads/squad/'),
  ]);
  return new Map(
    [...all].map(([ref, tip]) => [
      ref.replace('refs/heads/', ''),
      { tip, isMerged: open !== null && !open.has(ref) },
    ]),
  );
}

async function readTarget(git: Git, branch: string): Promise<Target> {
  const commit = await branchTip(git, branch);
  if (commit === null)
    throw new SquadError('INVALID_INPUT', `There is no branch ${branch} in ${git.folder.root}`, {
      suggestions: ['Name an existing one: --into BRANCH (`git branch` lists them).'],
    });
  const list = String(await git.run(['worktree', 'list', '--porcelain', '-z']));
  const holders = list
    .split('\0\0')
    .filter(block => block.split('\0').includes(`branch refs/heads/${branch}`));
  const folders = holders.flatMap(block => /^worktree ([^\0]+)/.exec(block)?.[1] ?? []);
  return {
    commit,
    checkedOutAt: await Promise.all(folders.map(folder => realpath(folder).catch(() => folder))),
  };
}
