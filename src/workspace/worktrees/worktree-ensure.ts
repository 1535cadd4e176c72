import { mkdir, realpath, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { KeyedQueue } from '../../base/keyed-queue.ts';
import type { WorktreeSetup } from '../../core/ports/worktrees.ts';
import type { ProcessTable } from '../../process/table/process-table.ts';
import { processesIn } from '../../process/table/processes-in.ts';
import { SquadError } from '../../schema/error.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { nearestReal } from '../files/nearest-real.ts';
import { isPlainFile, writePlainFile } from '../files/plain-file.ts';
import { isInside } from '../files/real-place.ts';
import { GitTrouble, openGit } from '../git/git.ts';
import { gitFailure } from '../git/git-patience.ts';
import { readIgnoreRules } from '../git/ignore-rules.ts';
import { deleteAside } from './discard-folder.ts';
import { Kept, saveBefore } from './worktree-leave.ts';
import { addWorktree, undoWorktree } from './worktree-make.ts';
import { ignoreRulesFile, lookAt, makingFile, type Place, readyFile, setUpFile } from './worktree-place.ts';
import { type Repository, repositoryOf } from './worktree-repository.ts';
import { endSetUp, setUp } from './worktree-setup.ts';

const GIT_DONE_MS = 60_000;
const EMPTY = Buffer.alloc(0);

export interface WorktreeTools {
  env: Record<string, string | undefined>;
  table: ProcessTable;
  /** By what all work trees of a repository share, and by the path of each. */
  queue: KeyedQueue;
}

export interface Wanted {
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
      const isWhy = error instanceof Kept || error instanceof GitTrouble;
      throw isWhy ? inTheWay(worktree.path, error.message) : error;
    });
    await queue(commonDir, () => undoWorktree(repository, worktree));
    await deleteAside(dirname(worktree.path));
  }
  try {
    const gitDir = await queue(commonDir, () => addWorktree(repository, worktree, signal));
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
  await queue(repository.commonDir, () => undoWorktree(repository, worktree)).catch(() => {});
  await deleteAside(dirname(worktree.path));
}

/** Before anything is put or run there: a link on the way may lead anywhere. */
async function makeDirectory({ worktree: { path, workspace }, directory }: Wanted): Promise<void> {
  for (const folder of [workspace, directory]) {
    if (!isInside(path, await nearestReal(folder))) throw leadsOut(folder, path);
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
