import { randomBytes } from 'node:crypto';
import { link, lstat, open, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createProcessTable } from '../../process/table/process-table.ts';
import { processesIn } from '../../process/table/processes-in.ts';
import { SquadError } from '../../schema/error.ts';
import { statWorkFile } from '../files/file-stamp.ts';
import { type ScratchIndex, withScratchIndex } from '../worktrees/branch-commit.ts';
import { type Git, GitError } from './git.ts';

/** The index as it is now, byte for byte; null: there is none. Git only ever replaces it as a whole. */
export const readIndex = (file: string): Promise<Buffer | null> =>
  readFile(file).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return null;
    throw thrown;
  });

/** Null when there is none: then `tip` is what the copy holds. */
export async function copyIndex(
  from: string,
  to: ScratchIndex,
  tip: () => string | Promise<string>,
): Promise<Buffer | null> {
  const found = await stat(from, { bigint: true }).catch(() => null);
  const bytes = await readIndex(from);
  if (!bytes || !found) {
    await to.run(['read-tree', await tip()]);
    return bytes;
  }
  const file = await open(to.file, 'wx', 0o600);
  await file.writeFile(bytes).finally(() => file.close());
  // Git takes a file that is younger than the index for changed perhaps, and looks: a copy must not be younger than what it is of.
  const seconds = Number(found.mtimeNs - 1000n) / 1e9;
  await utimes(to.file, seconds, seconds);
  return bytes;
}

export const isSameIndex = (one: Buffer | null, other: Buffer | null): boolean =>
  one === null || other === null ? one === other : one.equals(other);

/** For work with a copy of a work tree's index, beside it: so the real one is as it was or as it is to be, and nothing between. */
export const withIndexCopy = <T>(
  git: Git,
  tip: string,
  use: (index: ScratchIndex) => Promise<T>,
): Promise<T> =>
  withScratchIndex(
    git,
    async index => {
      await copyIndex(join(git.folder.gitDir, 'index'), index, () => tip);
      return use(index);
    },
    git.folder.gitDir,
  );

/**
 * Paths, one character for each byte, whose file is not as the index has it; with `commit`, whose file or entry is not as there;
 * with `folder`, of the files in that one instead of the work tree.
 */
export async function changedPaths(
  index: ScratchIndex,
  { commit, folder }: { commit?: string; folder?: string } = {},
): Promise<Set<string>> {
  const options = [...THOROUGH, ...(folder === undefined ? [] : [`--work-tree=${folder}`])];
  await index
    .run(
      [...options, 'update-index', '-q', '--refresh', '--ignore-submodules'],
      undefined,
      REFRESH_TIMEOUT_MS,
    )
    .catch(ignoreExitOne);
  const list = commit === undefined ? ['diff-files'] : ['diff-index', commit];
  const how = ['--name-only', '-z', '--no-renames', '--ignore-submodules=all'];
  return listed(await index.run([...options, ...list, ...how]));
}

/** Many files that were replaced are read again. */
const REFRESH_TIMEOUT_MS = 120_000;

/** A configuration may have git overlook changes. */
const THOROUGH = ['core.ignoreStat=false', 'core.trustctime=true', 'core.checkStat=default'].flatMap(
  setting => ['-c', setting],
);

export const listed = (output: Buffer): Set<string> =>
  new Set(output.toString('latin1').split('\0').slice(0, -1));

/** By 1 git only says that not all is as the index has it. */
export function ignoreExitOne(trouble: unknown): void {
  if (!(trouble instanceof GitError) || trouble.exitCode !== 1) throw trouble;
}

/** Files that the index says are kept out of the folder: those that are there all the same, and those that are not. */
interface KeptOut {
  present: string[];
  absent: Set<string>;
}

/**
 * Makes git look at these paths (bytes, one character each) whatever flags the index has for them: by `assume-unchanged` and
 * `skip-worktree` people hide changes of their own. A file that is not in the folder because of a flag may stay away.
 */
export async function clearSkipWorktree(
  index: ScratchIndex,
  root: string,
  paths: readonly string[],
): Promise<KeptOut> {
  const keptOut: KeptOut = { present: [], absent: new Set() };
  if (paths.length === 0) return keptOut;
  const asked = new Set(paths);
  const assumed: string[] = [];
  for (const line of (await index.run(['ls-files', '-v', '-z'])).toString('latin1').split('\0')) {
    const [tag = '', path] = [line[0], line.slice(2)];
    if (!asked.has(path)) continue;
    const isKeptOut = tag.toUpperCase() === 'S';
    const isAbsent = isKeptOut && !(await statWorkFile(root, path));
    if (isAbsent) keptOut.absent.add(path);
    else if (isKeptOut) keptOut.present.push(path);
    if (tag !== tag.toUpperCase() && !isAbsent) assumed.push(path);
  }
  await flag(index, '--no-assume-unchanged', assumed);
  await flag(index, '--no-skip-worktree', keptOut.present);
  return keptOut;
}

export const setSkipWorktree = (index: ScratchIndex, paths: readonly string[]): Promise<void> =>
  flag(index, '--skip-worktree', paths);

async function flag(index: ScratchIndex, option: string, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return;
  const input = Buffer.from(paths.map(path => `${path}\0`).join(''), 'latin1');
  await index.run(['update-index', option, '-z', '--stdin'], input);
}

/** How long the agent's own git is waited for. */
const LOCK_TIMEOUT_MS = 10_000;
const TRY_EVERY_MS = 10;
const LOOK_EVERY_MS = 250;

/** Git writes what it has into its lock long before, or is still at work. */
const STALE_MS = 5_000;

const processes = createProcessTable();
let marked: Promise<string> | null = null;

interface LockOptions {
  patienceMs?: number;
  /** The work tree, where it is one that Squad made: nobody's git but the run's is at work there. */
  ownTree?: string;
}

/**
 * Does the work while no git changes the index: it is git's own lock. One that a hub left behind when it died is taken over, in
 * a work tree of ours also the empty one of a git that was killed. Throws GIT_BUSY.
 */
export async function withIndexLock<T>(
  gitDir: string,
  work: () => Promise<T>,
  { patienceMs = LOCK_TIMEOUT_MS, ownTree }: LockOptions = {},
): Promise<T> {
  const lock = join(gitDir, 'index.lock');
  const end = performance.now() + patienceMs;
  for (let lookAt = 0; !(await lay(gitDir, lock)); ) {
    const now = performance.now();
    if (now >= lookAt && (await isLeftBehind(lock, ownTree))) await rm(lock, { force: true });
    else if (now > end) throw busy(lock, patienceMs);
    // Not in step with whoever else tries.
    else await pause(TRY_EVERY_MS * (1 + Math.random()));
    if (now >= lookAt) lookAt = now + LOOK_EVERY_MS;
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

/** Written first and put in place whole: killed at any moment, a lock of ours says whose it is. */
async function lay(gitDir: string, lock: string): Promise<boolean> {
  const own = join(gitDir, `squad-index-lock-${randomBytes(8).toString('hex')}`);
  marked ??= markOfThisProcess();
  await writeFile(own, await marked, { mode: 0o600, flag: 'wx' });
  try {
    await link(own, lock);
    return true;
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    // Gone: whoever has the lock may have tidied up.
    if (code === 'EEXIST' || code === 'ENOENT') return false;
    throw thrown;
  } finally {
    await rm(own, { force: true });
  }
}

async function markOfThisProcess(): Promise<string> {
  const startTime = (await processes.snapshot()).get(process.pid)?.startTime ?? '';
  return `squad ${process.pid} ${startTime}\n`;
}

async function isLeftBehind(lock: string, ownTree: string | undefined): Promise<boolean> {
  const [stats, content] = await Promise.all([
    lstat(lock).catch(() => null),
    readFile(lock, 'latin1').catch(() => null),
  ]);
  if (!stats?.isFile() || content === null || stats.uid !== process.getuid?.()) return false;
  const [, pid, startTime] = MARK.exec(content) ?? [];
  if (pid !== undefined) return !processes.alive({ pid: Number(pid), startTime: startTime! });
  // A time in the future is from before the clock was set back.
  const isFresh = Math.abs(Date.now() - stats.mtimeMs) < STALE_MS;
  if (content !== '' || ownTree === undefined || isFresh) return false;
  const there = processesIn(ownTree);
  return there !== null && !there.some(({ command }) => GIT.test(command));
}

const MARK = /^squad (\d+) (.+)\n$/;
const GIT = /^(\S*\/)?git(-\S+)?( |$)/;

const busy = (lock: string, patienceMs: number): SquadError =>
  new SquadError('GIT_BUSY', `Another git holds ${lock} for longer than ${patienceMs / 1000} s.`, {
    suggestions: ['Wait for that git to end, or remove the file when none is at work there; then try again.'],
  });
