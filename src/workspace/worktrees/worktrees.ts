import { lstat, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { WorktreeRemains, WorktreeState, Worktrees } from '../../core/ports/worktrees.ts';
import { createProcessTable, type ProcessTable } from '../../process/table/process-table.ts';
import { strangersIn } from '../../process/table/processes-in.ts';
import { savedRefOf, type Worktree } from '../../schema/worktree.ts';
import { resolveExistingPart } from '../files/paths.ts';
import { type Git, GitError, gitFailure, openGit, runWithLockRetry } from '../git/git.ts';
import { withoutTeamFiles } from '../team/team-file.ts';
import { isTrash } from './discard-folder.ts';
import { ensureWorktree, type WorktreeTools } from './ensure-worktree.ts';
import { planWorktree } from './plan-worktree.ts';
import { removeWorktree } from './remove-worktree.ts';
import {
  checkoutAround,
  commitsBetween,
  describeLock,
  lookAt,
  type Place,
  type Repository,
  repositoryOf,
  repositoryPaths,
  tipsOf,
} from './worktree-place.ts';
import { nestedIn, readUnsaved, tooLargeIn, unfinishedIn } from './worktree-save.ts';

const BLOCK = 512;

/** What a folder takes on the disk; what comes or goes meanwhile counts as it is met. Links are not followed. */
export async function folderSize(path: string): Promise<number> {
  const found = await lstat(path).catch(() => null);
  let bytes = (found?.blocks ?? 0) * BLOCK;
  if (!found?.isDirectory()) return bytes;
  for (const name of await readdir(path).catch(() => [])) bytes += await folderSize(join(path, name));
  return bytes;
}

type Environment = Record<string, string | undefined>;

export async function inspectRemains(worktree: Worktree, env: Environment): Promise<WorktreeRemains> {
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
      if (trouble instanceof GitError) return false;
      throw trouble;
    },
  );
  if (!isThere) return false;
  const none = '0'.repeat(commit.length);
  await queue
    .run(commonDir, () =>
      runWithLockRetry(git, ['update-ref', `refs/heads/${worktree.branch}`, commit, none]),
    )
    .catch(trouble => {
      throw gitFailure(`Branch ${worktree.branch} could not be put back`, trouble);
    });
  return true;
}

type BranchState = Pick<WorktreeState, 'tip' | 'ahead' | 'isMerged'>;

/** Each part by itself: what one cannot tell does not hide the others. */
export async function worktreeState(worktree: Worktree, env: Environment): Promise<WorktreeState> {
  const troubles: string[] = [];
  const told = <T>(work: Promise<T>, otherwise: T): Promise<T> =>
    work.catch(error => {
      troubles.push(error instanceof GitError ? error.message : (error.code ?? error.message));
      return otherwise;
    });
  const unreadable: Place = { kind: 'foreign', why: 'it cannot be looked at' };
  const repository = await told(repositoryOf(worktree, env), null);
  const place = await told(lookAt(worktree.path, repository?.commonDir ?? null), unreadable);
  if (place.kind === 'foreign') troubles.push(place.why);
  const [branch, held, lock] = await Promise.all([
    told(branchState(worktree, repository), { tip: null, ahead: null, isMerged: null }),
    place.kind === 'whole' ? told(heldIn(worktree, env), null) : null,
    'gitDir' in place ? describeLock(place.gitDir, worktree.path) : null,
  ]);
  const processes = strangersIn(worktree.path);
  if (processes === null && place.kind !== 'missing')
    troubles.push('this system does not tell which processes are at work in it');
  return {
    folder: folderState(place),
    ...branch,
    uncommitted: held?.uncommitted ?? null,
    processes: processes ?? [],
    held: lock ?? held?.why ?? null,
    large: held?.large ?? null,
    trouble: troubles.length > 0 ? troubles.join('; ') : null,
  };
}

/** One that is half-made is as good as not there: it is made anew when it is wanted. */
function folderState({ kind }: Place): WorktreeState['folder'] {
  if (kind === 'foreign') return 'foreign';
  return kind === 'whole' ? 'there' : 'missing';
}

async function branchState(worktree: Worktree, repository: Repository | null): Promise<BranchState> {
  const { branch, base, baseBranch } = worktree;
  if (!repository) throw new GitError(`its repository ${worktree.repository} is gone`);
  const { git } = repository;
  const [tip = null, target = null] = await tipsOf(git, branch, baseBranch);
  if (tip === null) return { tip, ahead: null, isMerged: null };
  const ahead = await commitsBetween(git, base, tip);
  return { tip, ahead, isMerged: target === null ? null : await isIn(git, tip, target) };
}

const isIn = async (git: Git, tip: string, target: string): Promise<boolean> =>
  (await commitsBetween(git, target, tip)) === 0;

/** What of it is not committed, and what of that keeps it from being removed. */
async function heldIn(
  { path, workspace }: Worktree,
  env: Environment,
): Promise<{ uncommitted: number; why: string | null; large: string | null }> {
  const git = await openGit(path, env);
  const unsaved = await readUnsaved(git);
  const uncommitted = withoutTeamFiles(unsaved.entries, relative(path, workspace)).length;
  const large = await tooLargeIn(git, path, unsaved);
  return { uncommitted, why: unfinishedIn(git) ?? nestedIn(unsaved), large };
}

export interface WorktreesOptions {
  /** Where they are kept, for all repositories. */
  folder: string;
  env?: Record<string, string | undefined>;
  processes?: ProcessTable;
}

export function createWorktrees(options: WorktreesOptions): Worktrees {
  const { folder, env = process.env, processes: table = createProcessTable() } = options;
  const tools: WorktreeTools = { env, table, queue: new KeyedQueue<string>() };

  return {
    plan: ask => planWorktree(folder, env, ask),
    ensure: (worktree, setup, signal, directory = worktree.workspace) =>
      tools.queue.run(worktree.path, () => ensureWorktree({ worktree, setup, directory, signal }, tools)),
    state: worktree => worktreeState(worktree, env),
    checkout: place => checkoutAround(place, folder),
    repositoryOf: async worktree => (await repositoryPaths(worktree))?.commonDir ?? null,
    remains: worktree => inspectRemains(worktree, env),
    restoreBranch: (worktree, commit) => restoreBranch(worktree, commit, tools),
    bytes: ({ path }) => folderSize(path),
    remove: (worktree, how) => tools.queue.run(worktree.path, () => removeWorktree(worktree, tools, how)),

    async strays(known) {
      const ours = new Set(known.map(({ path }) => path));
      const real = await resolveExistingPart(folder);
      const found: string[] = [];
      for (const repository of await namesIn(real))
        for (const name of await namesIn(join(real, repository)))
          if (!isTrash(name) && !ours.has(join(real, repository, name)))
            found.push(join(real, repository, name));
      return found;
    },
  };
}

async function namesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter(entry => entry.isDirectory()).map(({ name }) => name);
}
