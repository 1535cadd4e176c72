import { existsSync } from 'node:fs';
import { lstat, readdir, realpath, rmdir } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type {
  Removal,
  RemoveOptions,
  WorktreeRemains,
  WorktreeState,
  Worktrees,
} from '../../core/ports/worktrees.ts';
import { ownProgramsOver } from '../../process/programs/run-program.ts';
import { createProcessTable, type ProcessTable } from '../../process/table/process-table.ts';
import { strangersIn } from '../../process/table/processes-in.ts';
import { SquadError } from '../../schema/error.ts';
import { savedRefOf, type Worktree } from '../../schema/worktree.ts';
import { folderFor, resolveExistingPart } from '../files/paths.ts';
import { branchTip, COMMITTER, isAncestor, readRefs } from '../git/commits.ts';
import {
  beforeOpening,
  type Environment,
  type Git,
  GitError,
  gitFailure,
  openGit,
  runWithLockRetry,
} from '../git/git.ts';
import { agentGitOf, agentTreeOf, type GitFolder, isAgentGit } from '../git/git-folder.ts';
import { withoutTeamFiles } from '../team/team-file.ts';
import { AgentGit } from './agent-git.ts';
import { collectCommits } from './collect-commits.ts';
import { confineGit } from './confine-git.ts';
import { dropRecord, ensureWorktree, type WorktreeTools } from './ensure-worktree.ts';
import { planWorktree } from './plan-worktree.ts';
import { Kept, moveAway, saveBefore } from './removal-checks.ts';
import {
  describeLargeFiles,
  describeOperation,
  describeUntrackedRepository,
  readUnsaved,
  type SaveOptions,
} from './save-work.ts';
import { endSetUp } from './setup-worktree.ts';
import {
  checkoutAround,
  deleteTrash,
  describeLock,
  inspectPlace,
  isTrash,
  type Place,
  type Repository,
  registeredGitDir,
  repositoryOf,
  repositoryPaths,
} from './worktree-place.ts';

/**
 * Removes a work tree: saves its work, renames the folder, then removes git's record. If anything is uncertain, the
 * work tree stays.
 */
export async function removeWorktree(
  worktree: Worktree,
  tools: WorktreeTools,
  { dropEmptyBranch, saveLarge = false }: RemoveOptions,
): Promise<Removal> {
  try {
    const repository = await repositoryOf(worktree, tools.env);
    if (!repository) return await withoutRepository(worktree);
    const removal = await tools.queue.run(repository.commonDir, async () => {
      const { savedRef, wasThere } = await takeAway(worktree, repository, tools, { saveLarge });
      const branchIsGone = dropEmptyBranch && (await dropBranch(repository.git, worktree));
      return wasThere
        ? ({ outcome: 'removed', savedRef, branchIsGone } as const)
        : ({ outcome: 'gone', branchIsGone } as const);
    });
    await deleteTrash(dirname(worktree.path));
    return removal;
  } catch (error) {
    if (error instanceof Kept || error instanceof GitError) return { outcome: 'kept', why: error.message };
    const { code, message } = error as NodeJS.ErrnoException;
    return { outcome: 'kept', why: `it cannot be read (${code ?? message})` };
  }
}

async function takeAway(
  worktree: Worktree,
  repository: Repository,
  tools: WorktreeTools,
  how: SaveOptions,
): Promise<{ savedRef: string | null; wasThere: boolean }> {
  const { path } = worktree;
  const place = await inspectPlace(path, repository.commonDir);
  if (place.kind === 'foreign') throw new Kept(place.why);
  await collectCommits(path, tools.env, 'all').catch(error => {
    throw error instanceof SquadError ? new Kept(error.message) : error;
  });
  if (place.kind === 'missing' || place.kind === 'empty') {
    const left = await registeredGitDir(repository.commonDir, path);
    if (left) await refuseIfLocked(left, path);
    if (place.kind === 'empty') await rmdir(path);
    await dropRecord(repository.git, repository.commonDir, path);
    await new AgentGit(path).remove();
    return { savedRef: null, wasThere: false };
  }
  if (place.kind === 'unready') await endSetUp(tools.table, worktree);
  await refuseIfLocked(place.gitDir, path);
  await refuseIfOccupied(path);
  const saved = await saveBefore(worktree, place, tools.env, how);
  // The main repository is used, because the work tree's own folder is about to be deleted.
  const git =
    repository.git.folder.root === path ? await openGit(repository.commonDir, tools.env) : repository.git;
  await refuseIfOccupied(path);
  const savedRef = await moveAway(worktree, saved, tools.env, how);
  // The work tree counts as removed from here on, even if a step fails. Git's record of it is harmless and is deleted
  // next time.
  await dropRecord(git, repository.commonDir, path).catch(() => {});
  await new AgentGit(path).remove().catch(() => {});
  return { savedRef, wasThere: true };
}

async function refuseIfLocked(gitDir: string, path: string): Promise<void> {
  const lock = await describeLock(gitDir, path);
  if (lock) throw new Kept(lock);
}

async function refuseIfOccupied(path: string): Promise<void> {
  // Waits until requests for the changes of this work tree are finished.
  await ownProgramsOver(path);
  const [first, ...more] = strangersIn(path) ?? [];
  if (!first) return;
  const others = more.length > 0 ? ` and ${more.length} more` : '';
  throw new Kept(`a process is running in it: ${first.command} (${first.pid})${others}`);
}

/** Deletes a branch that has no commits of its own, unless somebody has it checked out. */
async function dropBranch(git: Git, { branch, base }: Worktree): Promise<boolean> {
  const tip = await branchTip(git, branch);
  if (tip === null) return true;
  if (!(await isAncestor(git, tip, base))) return false;
  return git.run(['branch', '-D', '--quiet', branch]).then(
    () => true,
    () => false, // the branch is checked out somewhere else
  );
}

async function withoutRepository({ path, repository }: Worktree): Promise<Removal> {
  const place = await inspectPlace(path, null);
  if (place.kind === 'missing') {
    // The agents' objects are useless without those of the repository.
    await new AgentGit(path).remove();
    return { outcome: 'gone', branchIsGone: true };
  }
  throw new Kept(`its repository ${repository} is gone, so its content is unknown`);
}

const BLOCK = 512;

/** Size of a folder on disk. Links are not followed. */
export async function folderSize(path: string): Promise<number> {
  const found = await lstat(path).catch(() => null);
  let bytes = (found?.blocks ?? 0) * BLOCK;
  if (!found?.isDirectory()) return bytes;
  for (const name of await readdir(path).catch(() => [])) bytes += await folderSize(join(path, name));
  return bytes;
}

export async function inspectRemains(worktree: Worktree, env: Environment): Promise<WorktreeRemains> {
  const repository = await repositoryOf(worktree, env);
  if (!repository) return { isThere: false, tip: null, saved: [] };
  const { kind } = await inspectPlace(worktree.path, repository.commonDir);
  const branch = `refs/heads/${worktree.branch}`;
  const saved = savedRefOf(worktree);
  const list = readRefs(repository.git, '--sort=version:refname', branch, saved, `${saved}-*`);
  const refs = await list.catch(error => {
    throw gitFailure(`Could not list the refs of ${worktree.branch}`, error);
  });
  return {
    isThere: kind === 'ready',
    tip: refs.get(branch) ?? null,
    saved: [...refs.keys()].filter(name => name !== branch),
  };
}

/** Creates the branch again at a commit, if the commit still exists. Throws GIT_FAILED if the branch exists. */
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
    error => {
      if (error instanceof GitError) return false;
      throw error;
    },
  );
  if (!isThere) return false;
  const none = '0'.repeat(commit.length);
  await queue
    .run(commonDir, () =>
      runWithLockRetry(git, ['update-ref', `refs/heads/${worktree.branch}`, commit, none]),
    )
    .catch(error => {
      throw gitFailure(`Could not restore branch ${worktree.branch}`, error);
    });
  return true;
}

type BranchState = Pick<WorktreeState, 'tip' | 'ahead' | 'isMerged'>;

/** Reads each part of the state separately, so that an error in one part does not hide the others. */
export async function worktreeState(worktree: Worktree, env: Environment): Promise<WorktreeState> {
  const errors: string[] = [];
  const orElse = <T>(work: Promise<T>, fallback: T): Promise<T> =>
    work.catch(error => {
      errors.push(error instanceof GitError ? error.message : (error.code ?? error.message));
      return fallback;
    });
  const unreadable: Place = { kind: 'foreign', why: 'it cannot be read' };
  const repository = await orElse(repositoryOf(worktree, env), null);
  const place = await orElse(inspectPlace(worktree.path, repository?.commonDir ?? null), unreadable);
  if (place.kind === 'foreign') errors.push(place.why);
  const [branch, held, lock] = await Promise.all([
    orElse(branchState(worktree, repository), { tip: null, ahead: null, isMerged: null }),
    place.kind === 'ready' ? orElse(uncommittedIn(worktree, env), null) : null,
    'gitDir' in place ? describeLock(place.gitDir, worktree.path) : null,
  ]);
  const processes = strangersIn(worktree.path);
  if (processes === null && place.kind !== 'missing')
    errors.push('this system does not tell which processes run in it');
  return {
    folder: folderState(place),
    ...branch,
    uncommitted: held?.uncommitted ?? null,
    processes: processes ?? [],
    held: lock ?? held?.why ?? null,
    large: held?.large ?? null,
    error: errors.length > 0 ? errors.join('; ') : null,
  };
}

/** An unfinished work tree counts as missing, because it is created again when needed. */
function folderState({ kind }: Place): WorktreeState['folder'] {
  if (kind === 'foreign') return 'foreign';
  return kind === 'ready' ? 'there' : 'missing';
}

async function branchState(worktree: Worktree, repository: Repository | null): Promise<BranchState> {
  const { branch, base, baseBranch } = worktree;
  if (!repository) throw new GitError(`its repository ${worktree.repository} is gone`);
  const { git } = repository;
  const [own, other] = [branch, baseBranch].map(name => `refs/heads/${name}`);
  const refs = await readRefs(git, own!, other!);
  const [tip, target] = [refs.get(own!) ?? null, baseBranch === null ? null : refs.get(other!)];
  if (tip === null) return { tip, ahead: null, isMerged: null };
  const count = await git.run(['rev-list', '--count', tip, `^${base}`], { env: COMMITTER });
  const isMerged = !target ? null : await isAncestor(git, tip, target);
  return { tip, ahead: Number(String(count)), isMerged };
}

/** Counts uncommitted files, and describes why they keep the work tree from being removed. */
async function uncommittedIn(
  { path, workspace }: Worktree,
  env: Environment,
): Promise<{ uncommitted: number; why: string | null; large: string | null }> {
  const git = await openGit(path, env);
  const unsaved = await readUnsaved(git);
  const uncommitted = withoutTeamFiles(unsaved.entries, relative(path, workspace)).length;
  const large = await describeLargeFiles(git, path, unsaved);
  return { uncommitted, why: describeOperation(git) ?? describeUntrackedRepository(unsaved), large };
}

export interface WorktreesOptions {
  /** Folder that contains the work trees of all repositories. */
  folder: string;
  env?: Environment;
  processes?: ProcessTable;
}

export function createWorktrees(options: WorktreesOptions): Worktrees {
  const { folder, env = process.env, processes: table = createProcessTable() } = options;
  const tools: WorktreeTools = { env, table, queue: new KeyedQueue<string>() };
  beforeOpening(opened => collectAround(opened, folder, env));

  return {
    plan: ask => planWorktree(folder, env, ask),
    ensure: (worktree, setup, signal, directory = worktree.workspace) =>
      tools.queue.run(worktree.path, () => ensureWorktree({ worktree, setup, directory, signal }, tools)),
    state: worktree => worktreeState(worktree, env),
    checkout: place => checkoutAround(place, folder),
    repositoryOf: async worktree => (await repositoryPaths(worktree))?.commonDir ?? null,
    remains: worktree => inspectRemains(worktree, env),
    restoreBranch: (worktree, commit) => restoreBranch(worktree, commit, tools),
    confine: (worktree, access, isInUse = false) =>
      confineGit(worktree, { access, isInUse }, env).catch(error => {
        throw gitFailure(`The work tree ${worktree.path} cannot be used in a sandbox`, error);
      }),
    collect: ({ path }) => collectCommits(path, env, 'refs'),
    bytes: async ({ path }) => (await folderSize(path)) + (await folderSize(agentGitOf(path))),
    remove: (worktree, how) => tools.queue.run(worktree.path, () => removeWorktree(worktree, tools, how)),

    async strays(known) {
      const ours = new Set(known.map(({ path }) => path));
      const real = await resolveExistingPart(folder);
      const found: string[] = [];
      // A Git folder of agents without a work tree can be removed.
      const isAlone = (path: string) => {
        if (!isAgentGit(basename(path))) return !ours.has(path);
        return !ours.has(agentTreeOf(path)) && !existsSync(agentTreeOf(path));
      };
      for (const repository of await namesIn(real))
        for (const name of await namesIn(join(real, repository)))
          if (!isTrash(name) && isAlone(join(real, repository, name)))
            found.push(join(real, repository, name));
      return found;
    },
  };
}

/**
 * Brings commits of sandboxed agents into a repository that is about to be read: commits of the work tree, or of all
 * work trees if it is the user's own checkout. An error matters only for the work tree itself.
 */
async function collectAround(
  { root, commonDir }: GitFolder,
  folder: string,
  env: Environment,
): Promise<void> {
  const ours = await resolveExistingPart(folder).catch(() => null);
  if (ours === null) return;
  if (dirname(dirname(root)) === ours) return void (await collectCommits(root, env, 'branch'));
  const real = await realpath(commonDir).catch(() => null);
  const trees = real === null ? null : folderFor(ours, real);
  const names = trees === null ? [] : await namesIn(trees);
  const paths = names.filter(isAgentGit).map(name => agentTreeOf(join(trees!, name)));
  await Promise.all(paths.map(path => collectCommits(path, env, 'branch').catch(() => {})));
}

async function namesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter(entry => entry.isDirectory()).map(({ name }) => name);
}
