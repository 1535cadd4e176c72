import { lstat, mkdir, realpath, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { KeyedQueue } from '../../base/keyed-queue.ts';
import type { WorktreeSetup } from '../../core/ports/worktrees.ts';
import type { ProcessTable } from '../../process/table/process-table.ts';
import { processesIn } from '../../process/table/processes-in.ts';
import { SquadError } from '../../schema/error.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { isInside, resolveExistingPart } from '../files/paths.ts';
import { isPlainFile, readBounded, writePlainFile } from '../files/text-file.ts';
import { branchTip, isAncestor } from '../git/commits.ts';
import { type Environment, type Git, GitError, gitFailure, openGit, runWithLockRetry } from '../git/git.ts';
import { readIgnoreRules } from '../git/git-status.ts';
import { AgentGit } from './agent-git.ts';
import { collectCommits } from './collect-commits.ts';
import { Kept, saveBefore } from './removal-checks.ts';
import { saveUnreferencedCommits } from './save-work.ts';
import { endSetUp, setUp } from './setup-worktree.ts';
import {
  deleteTrash,
  describeLock,
  gitDirAt,
  ignoreRulesFile,
  inspectPlace,
  makingFile,
  moveToTrash,
  type Place,
  type Repository,
  readyFile,
  registeredGitDir,
  repositoryOf,
  setUpFile,
} from './worktree-place.ts';

/**
 * Completes a work tree that Squad's git has just created. Its `.git` file still names Squad's private git folder,
 * and it lacks configuration per work tree, such as a sparse checkout. Returns its git folder.
 */
export async function repairNewWorktree(git: Git, path: string): Promise<string> {
  const named = await gitDirAt(path);
  const gitDir = named && (await realpath(named).catch(() => null));
  if (!gitDir) throw new GitError(`git created the work tree ${path}, but its .git file cannot be read`);
  if (gitDir !== named) await writeFile(join(path, '.git'), `gitdir: ${gitDir}\n`);
  const config = readBounded(join(git.folder.gitDir, 'config.worktree'));
  if (typeof config !== 'string') await writeConfig(git, join(gitDir, 'config.worktree'), config);
  return gitDir;
}

async function writeConfig(git: Git, file: string, config: Buffer): Promise<void> {
  await writeFile(file, config);
  // The configuration is a copy, and these two settings are only for the work tree that it was copied from. Git exits with
  // 5 if a setting does not exist.
  for (const key of ['core.bare', 'core.worktree'])
    await git.run(['config', '--file', file, '--unset-all', key], { codes: [5] });
}

/** Timeout for a check-out, even of a big repository on a slow disk. */
const CHECKOUT_TIMEOUT_MS = 600_000;

/** Creates folder and branch, in one command if nothing is in the way. Returns the git folder. */
async function addWorktree(
  { git, commonDir }: Repository,
  worktree: Worktree,
  signal?: AbortSignal,
): Promise<string> {
  const { path, branch, base } = worktree;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const how = { limitMs: CHECKOUT_TIMEOUT_MS, signal };
  const fresh = ['worktree', 'add', '--quiet', '-b', branch, path, base];
  await dropStaleLock(commonDir, branch);
  try {
    await runWithLockRetry(git, fresh, how);
  } catch (error) {
    if (!(await dropStaleLock(commonDir, branch)) && !isInTheWay(error)) throw error;
    const wasOurs = await dropRecord(git, commonDir, path);
    const hasBranch = await hasOwnBranch(git, worktree, wasOurs);
    await runWithLockRetry(git, hasBranch ? ['worktree', 'add', '--quiet', path, branch] : fresh, how);
  }
  return repairNewWorktree(git, path);
}

/** Git holds the lock of a new branch for milliseconds. An older lock was left by a killed git. */
const STALE_LOCK_MS = 2_000;

/** Removes the lock that a git process left when it was killed with its hub. Only this run uses the branch. */
async function dropStaleLock(commonDir: string, branch: string): Promise<boolean> {
  const lock = join(commonDir, 'refs', 'heads', `${branch}.lock`);
  const found = await lstat(lock).catch(() => null);
  if (!found || Date.now() - found.mtimeMs < STALE_LOCK_MS) return false;
  await rm(lock, { force: true });
  return true;
}

/** Removes everything that an interrupted `addWorktree` may have left, except commits. */
async function undoWorktree({ git, commonDir }: Repository, { path, branch, base }: Worktree): Promise<void> {
  const place = await inspectPlace(path, commonDir);
  if (place.kind === 'empty') await rmdir(path);
  if (place.kind === 'ready') return;
  if (place.kind === 'unready' || place.kind === 'interrupted') await moveToTrash(path);
  await dropRecord(git, commonDir, path);
  const tip = await branchTip(git, branch);
  // Git refuses to delete a branch that is checked out somewhere.
  if (tip === base) await git.run(['branch', '-D', '--quiet', branch]).catch(() => {});
}

/** Removes git's record of a work tree whose folder is missing. False if git had no record. */
export async function dropRecord(git: Git, commonDir: string, path: string): Promise<boolean> {
  const gitDir = await registeredGitDir(commonDir, path);
  if (!gitDir) return false;
  const lock = await describeLock(gitDir, path);
  if (lock) throw new GitError(`the work tree ${path} is gone, and ${lock}`);
  await saveUnreferencedCommits(git, path, gitDir);
  await rmdir(path).catch(() => {}); // git would refuse if an empty folder existed
  // `-f` is given twice, because git may have locked the work tree while creating it.
  await runWithLockRetry(git, ['worktree', 'remove', '-f', '-f', path]);
  return true;
}

const isInTheWay = (error: unknown): boolean =>
  error instanceof GitError &&
  /already exists|already registered|already checked out|missing but locked/.test(error.said);

/**
 * Whether an existing branch with the name of the run's branch belongs to this work tree: git had them registered
 * together, or the branch starts at the same base.
 */
async function hasOwnBranch(git: Git, { branch, base }: Worktree, wasOurs: boolean): Promise<boolean> {
  const tip = await branchTip(git, branch);
  if (tip === null) return false;
  if (wasOurs || (await isAncestor(git, base, tip))) return true;
  throw new SquadError(
    'BRANCH_EXISTS',
    `The branch ${branch} already exists, and this run did not create it.`,
    {
      suggestions: [`Rename or delete it in ${git.folder.root}, then try again.`],
    },
  );
}

const GIT_DONE_TIMEOUT_MS = 60_000;
const EMPTY = Buffer.alloc(0);

export interface WorktreeTools {
  env: Environment;
  table: ProcessTable;
  /**
   * Runs one change at a time: per repository (by the git folder that its work trees share), and per work tree (by
   * its path).
   */
  queue: KeyedQueue<string>;
}

interface WorktreeRequest {
  worktree: Worktree;
  setup: WorktreeSetup | null;
  directory: string;
  signal?: AbortSignal;
}

/** Creates the work tree and the agent's folder in it, unless they are ready. */
export async function ensureWorktree(
  request: WorktreeRequest,
  tools: WorktreeTools,
): Promise<{ made: boolean }> {
  const { worktree, setup } = request;
  const repository = await repositoryOf({ ...worktree, path: worktree.repository }, tools.env);
  if (!repository) throw noRepository(worktree);
  const place = await inspectPlace(worktree.path, repository.commonDir);
  if (place.kind === 'foreign') throw inTheWay(worktree.path, place.why);
  if (place.kind !== 'ready') await make(request, repository, tools, place);
  else if (needsSetUp(setup) && !(await isPlainFile(setUpFile(place.gitDir)))) {
    // The work tree was created before its agent was to start. A set-up that a dead hub had begun starts again.
    await endSetUp(tools.table, worktree);
    await setUpIn(request, setup, place.gitDir, tools);
  }
  await makeDirectory(request);
  return { made: place.kind !== 'ready' };
}

async function make(
  request: WorktreeRequest,
  repository: Repository,
  tools: WorktreeTools,
  place: Place,
): Promise<void> {
  const { worktree, setup, signal } = request;
  const { table, queue, env } = tools;
  const { commonDir } = repository;
  if ('gitDir' in place) {
    await endSetUp(table, worktree);
    await waitForGit(worktree.path);
    // Only the set-up has used the work tree so far, so the Git folder of its agents contains nothing to keep.
    if (place.kind === 'unready') await new AgentGit(worktree.path).remove();
    await saveBefore(worktree, place, env, { saveLarge: false }).catch(error => {
      const isReason = error instanceof Kept || error instanceof GitError;
      throw isReason ? inTheWay(worktree.path, error.message) : error;
    });
    await queue.run(commonDir, () => undoWorktree(repository, worktree));
    await deleteTrash(dirname(worktree.path));
  }
  // The folder was lost while some of the agent's commits were not in the repository yet.
  await collectCommits(worktree.path, env, 'all');
  await new AgentGit(worktree.path).remove();
  try {
    const gitDir = await queue.run(commonDir, () => addWorktree(repository, worktree, signal));
    await writePlainFile(makingFile(gitDir), EMPTY);
    if (needsSetUp(setup)) await setUpIn(request, setup, gitDir, tools);
    signal?.throwIfAborted();
    const rules = await readIgnoreRules(await openGit(worktree.path, env));
    if (rules !== null) await writePlainFile(ignoreRulesFile(gitDir), Buffer.from(rules, 'latin1'));
    await writePlainFile(readyFile(gitDir), EMPTY);
    await rm(makingFile(gitDir), { force: true });
  } catch (error) {
    await removeUnready(repository, worktree, tools);
    throw gitFailure(`The work tree ${worktree.path} could not be made`, error);
  }
}

async function setUpIn(
  request: WorktreeRequest,
  setup: WorktreeSetup,
  gitDir: string,
  { table, env }: WorktreeTools,
): Promise<void> {
  const { worktree, signal } = request;
  await makeDirectory(request);
  await setUp(worktree, setup, { git: await openGit(worktree.path, env), gitDir, table, signal });
  signal?.throwIfAborted();
  await writePlainFile(setUpFile(gitDir), EMPTY);
}

const needsSetUp = (setup: WorktreeSetup | null): setup is WorktreeSetup =>
  setup !== null && ((setup.copy?.length ?? 0) > 0 || setup.setup !== undefined);

/** Waits for a git process of a dead hub that may still be checking out files. */
async function waitForGit(path: string): Promise<void> {
  const until = performance.now() + GIT_DONE_TIMEOUT_MS;
  while (performance.now() < until && processesIn(path)?.some(({ command }) => /^(\S*\/)?git /.test(command)))
    await delay(50);
}

/**
 * Removes an unfinished work tree, which contains nothing of value. If a process runs in it, or something cannot be
 * removed, the next attempt removes it.
 */
async function removeUnready(
  repository: Repository,
  worktree: Worktree,
  { queue }: WorktreeTools,
): Promise<void> {
  if (processesIn(worktree.path)?.length) return;
  await new AgentGit(worktree.path).remove().catch(() => {});
  await queue.run(repository.commonDir, () => undoWorktree(repository, worktree)).catch(() => {});
  await deleteTrash(dirname(worktree.path));
}

/**
 * Creates the agent's folder. The path is checked before anything is written or run there, because a link on the path
 * may lead anywhere.
 */
async function makeDirectory({ worktree: { path, workspace }, directory }: WorktreeRequest): Promise<void> {
  for (const folder of [workspace, directory]) {
    if (!isInside(path, await resolveExistingPart(folder))) throw leadsOut(folder, path);
    await mkdir(folder, { recursive: true });
    if (!isInside(path, await realpath(folder))) throw leadsOut(folder, path);
  }
}

const leadsOut = (folder: string, path: string): SquadError =>
  new SquadError('REPOSITORY_UNSUITABLE', `${folder} leads out of the work tree ${path}.`, {
    suggestions: [
      'The path of that folder has a committed symbolic link: choose a folder that is not behind the link.',
    ],
  });

const inTheWay = (path: string, why: string): SquadError =>
  new SquadError('GIT_FAILED', `The work tree ${path} cannot be used: ${why}.`, {
    suggestions: ['Move that folder away, then try again: Squad creates the work tree from its branch.'],
  });

const noRepository = ({ repository, path }: Worktree): SquadError =>
  new SquadError(
    'NOT_A_REPOSITORY',
    `The work tree ${path} cannot be made: ${repository} is no longer a repository.`,
    {
      suggestions: ['Put the repository back where it was, or start a new run where it is now.'],
    },
  );
