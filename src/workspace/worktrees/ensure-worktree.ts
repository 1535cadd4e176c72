import { mkdir, realpath, rm, rmdir, writeFile } from 'node:fs/promises';
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
import { type Git, GitError, gitFailure, openGit, runWithLockRetry } from '../git/git.ts';
import { readIgnoreRules } from '../git/ignore-rules.ts';
import { deleteTrash, moveToTrash } from './discard-folder.ts';
import { Kept, saveBefore } from './removal-checks.ts';
import { endSetUp, setUp } from './setup-worktree.ts';
import { saveUnreferencedCommits } from './unreferenced-commits.ts';
import {
  commitsBetween,
  describeLock,
  gitDirAt,
  ignoreRulesFile,
  lookAt,
  makingFile,
  type Place,
  type Repository,
  readyFile,
  registered,
  repositoryOf,
  setUpFile,
  tipsOf,
} from './worktree-place.ts';

/**
 * A work tree that our git has just made. It names the way that git came, by a folder of ours, and lacks what other gits read
 * of one work tree alone (a sparse checkout, say). Returns its git folder.
 */
export async function repairNewWorktree(git: Git, path: string): Promise<string> {
  const named = await gitDirAt(path);
  const gitDir = named && (await realpath(named).catch(() => null));
  if (!gitDir) throw new GitError('git made a work tree that cannot be read');
  if (gitDir !== named) await writeFile(join(path, '.git'), `gitdir: ${gitDir}\n`);
  const config = await readBounded(join(git.folder.gitDir, 'config.worktree'));
  if (typeof config !== 'string') await writeConfig(git, join(gitDir, 'config.worktree'), config);
  return gitDir;
}

async function writeConfig(git: Git, file: string, config: Buffer): Promise<void> {
  await writeFile(file, config);
  // Where the other one's files are is not where these are. It exits with 5 when there is no such setting.
  for (const key of ['core.bare', 'core.worktree'])
    await git.run(['config', '--file', file, '--unset-all', key], { codes: [5] });
}

/** A big repository on a slow disk. */
const CHECKOUT_MS = 600_000;

/** Folder, branch and what git knows of them, by one command where nothing is in the way. Returns its git folder. */
async function addWorktree(
  { git, commonDir }: Repository,
  worktree: Worktree,
  signal?: AbortSignal,
): Promise<string> {
  const { path, branch, base } = worktree;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const how = { limitMs: CHECKOUT_MS, signal };
  const fresh = ['worktree', 'add', '--quiet', '-b', branch, path, base];
  try {
    await runWithLockRetry(git, fresh, how);
  } catch (trouble) {
    if (!isInTheWay(trouble)) throw trouble;
    const wasOurs = await dropRecord(git, commonDir, path);
    const isThere = await branchIsThere(git, worktree, wasOurs);
    await runWithLockRetry(git, isThere ? ['worktree', 'add', '--quiet', path, branch] : fresh, how);
  }
  return repairNewWorktree(git, path);
}

/** Takes away all that its making may have left, but no commit. */
async function undoWorktree({ git, commonDir }: Repository, { path, branch, base }: Worktree): Promise<void> {
  const place = await lookAt(path, commonDir);
  if (place.kind === 'empty') await rmdir(path);
  if (place.kind === 'whole') return;
  if (place.kind === 'half' || place.kind === 'torn') await moveToTrash(path);
  await dropRecord(git, commonDir, path);
  const [tip = null] = await tipsOf(git, branch);
  // Git refuses where somebody has it checked out.
  if (tip === base) await git.run(['branch', '-D', '--quiet', branch]).catch(() => {});
}

/** Lets git forget a work tree whose folder is gone. False: it knew of none. */
export async function dropRecord(git: Git, commonDir: string, path: string): Promise<boolean> {
  const gitDir = await registered(commonDir, path);
  if (!gitDir) return false;
  const lock = await describeLock(gitDir, path);
  if (lock) throw new GitError(`the work tree ${path} is gone, and ${lock}`);
  await saveUnreferencedCommits(git, path, gitDir);
  await rmdir(path).catch(() => {}); // an empty folder would make git refuse
  // Twice, because git may have locked it itself while it was at it.
  await runWithLockRetry(git, ['worktree', 'remove', '-f', '-f', path]);
  return true;
}

const isInTheWay = (trouble: unknown): boolean =>
  trouble instanceof GitError &&
  /already exists|already registered|already checked out|missing but locked/.test(trouble.said);

/** A branch of that name is this work tree's if git knew them together, or if it goes on from where that began. */
async function branchIsThere(git: Git, { branch, base }: Worktree, wasOurs: boolean): Promise<boolean> {
  const [tip = null] = await tipsOf(git, branch);
  if (tip === null) return false;
  if (wasOurs || (await commitsBetween(git, tip, base)) === 0) return true;
  throw new SquadError('BRANCH_EXISTS', `There is a branch ${branch} already, and it is not this run's.`, {
    suggestions: [`Rename or delete it in ${git.folder.root}, then try again.`],
  });
}

const GIT_DONE_MS = 60_000;
const EMPTY = Buffer.alloc(0);

export interface WorktreeTools {
  env: Record<string, string | undefined>;
  table: ProcessTable;
  /** By what all work trees of a repository share, and by the path of each. */
  queue: KeyedQueue<string>;
}

interface Wanted {
  worktree: Worktree;
  setup: WorktreeSetup | null;
  directory: string;
  signal?: AbortSignal;
}

/** There whole afterwards, and the agent's folder in it. */
export async function ensureWorktree(wanted: Wanted, tools: WorktreeTools): Promise<{ made: boolean }> {
  const { worktree } = wanted;
  const repository = await repositoryOf({ ...worktree, path: worktree.repository }, tools.env);
  if (!repository) throw noRepository(worktree);
  const place = await lookAt(worktree.path, repository.commonDir);
  if (place.kind === 'foreign') throw inTheWay(worktree.path, place.why);
  if (place.kind !== 'whole') await make(wanted, repository, tools, place);
  else if (needsSetUp(wanted.setup) && !(await isPlainFile(setUpFile(place.gitDir))))
    await setUpLate(wanted, wanted.setup, place.gitDir, tools);
  await makeDirectory(wanted);
  return { made: place.kind !== 'whole' };
}

async function make(
  wanted: Wanted,
  repository: Repository,
  tools: WorktreeTools,
  place: Place,
): Promise<void> {
  const { worktree, setup, signal } = wanted;
  const { table, queue, env } = tools;
  const { commonDir } = repository;
  if ('gitDir' in place) {
    await endSetUp(table, worktree);
    await untilGitIsDone(worktree.path);
    await saveBefore(worktree, place, env, { saveLarge: false }).catch(error => {
      const isWhy = error instanceof Kept || error instanceof GitError;
      throw isWhy ? inTheWay(worktree.path, error.message) : error;
    });
    await queue.run(commonDir, () => undoWorktree(repository, worktree));
    await deleteTrash(dirname(worktree.path));
  }
  try {
    const gitDir = await queue.run(commonDir, () => addWorktree(repository, worktree, signal));
    await writePlainFile(makingFile(gitDir), EMPTY);
    if (needsSetUp(setup)) {
      await makeDirectory(wanted);
      await setUp(worktree, setup, { git: await openGit(worktree.path, env), gitDir, table, signal });
      await writePlainFile(setUpFile(gitDir), EMPTY);
    }
    signal?.throwIfAborted();
    const rules = await readIgnoreRules(await openGit(worktree.path, env));
    if (rules !== null) await writePlainFile(ignoreRulesFile(gitDir), Buffer.from(rules, 'latin1'));
    await writePlainFile(readyFile(gitDir), EMPTY);
    await rm(makingFile(gitDir), { force: true });
  } catch (error) {
    await takeBack(repository, worktree, tools);
    throw gitFailure(`The work tree ${worktree.path} could not be made`, error);
  }
}

/** One that was made before its agent was to start. What a dead hub had begun is begun anew. */
async function setUpLate(
  wanted: Wanted,
  setup: WorktreeSetup,
  gitDir: string,
  { table, env }: WorktreeTools,
): Promise<void> {
  const { worktree, signal } = wanted;
  await endSetUp(table, worktree);
  await makeDirectory(wanted);
  await setUp(worktree, setup, { git: await openGit(worktree.path, env), gitDir, table, signal });
  signal?.throwIfAborted();
  await writePlainFile(setUpFile(gitDir), EMPTY);
}

const needsSetUp = (setup: WorktreeSetup | null): setup is WorktreeSetup =>
  setup !== null && ((setup.copy?.length ?? 0) > 0 || setup.setup !== undefined);

/** A git of an earlier hub outlives it, and may be checking files out right now. */
async function untilGitIsDone(path: string): Promise<void> {
  const until = performance.now() + GIT_DONE_MS;
  while (performance.now() < until && processesIn(path)?.some(({ command }) => /^(\S*\/)?git /.test(command)))
    await delay(50);
}

/** Nothing of value is in it; but whoever sits in it, or what cannot be taken away, is left to the next try. */
async function takeBack(repository: Repository, worktree: Worktree, { queue }: WorktreeTools): Promise<void> {
  if (processesIn(worktree.path)?.length) return;
  await queue.run(repository.commonDir, () => undoWorktree(repository, worktree)).catch(() => {});
  await deleteTrash(dirname(worktree.path));
}

/** Before anything is put or run there: a link on the way may lead anywhere. */
async function makeDirectory({ worktree: { path, workspace }, directory }: Wanted): Promise<void> {
  for (const folder of [workspace, directory]) {
    if (!isInside(path, await resolveExistingPart(folder))) throw leadsOut(folder, path);
    await mkdir(folder, { recursive: true });
    if (!isInside(path, await realpath(folder))) throw leadsOut(folder, path);
  }
}

const leadsOut = (folder: string, path: string): SquadError =>
  new SquadError('REPOSITORY_UNSUITABLE', `${folder} leads out of the work tree ${path}.`, {
    suggestions: ['A symbolic link on the way is committed: name a folder that is not behind it.'],
  });

const inTheWay = (path: string, why: string): SquadError =>
  new SquadError('GIT_FAILED', `The work tree ${path} cannot be used: ${why}.`, {
    suggestions: [
      'Look at what is there and move it away; then the work tree is made again from its branch.',
    ],
  });

const noRepository = ({ repository, path }: Worktree): SquadError =>
  new SquadError(
    'NOT_A_REPOSITORY',
    `The work tree ${path} cannot be made: ${repository} is no repository any more.`,
    {
      suggestions: ['Put the repository back where it was, or start a new run where it is now.'],
    },
  );
