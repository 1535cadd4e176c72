import { randomBytes } from 'node:crypto';
import { link, lstat, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createProcessTable } from '../../process/table/process-table.ts';
import { processesIn } from '../../process/table/processes-in.ts';
import { SquadError } from '../../schema/error.ts';

/** How long the agent's own git is waited for. */
const LOCK_TIMEOUT_MS = 10_000;
const TRY_EVERY_MS = 10;
const LOOK_EVERY_MS = 250;

/** Git writes what it has into its lock long before, or is still at work. */
const STALE_MS = 5_000;

const processes = createProcessTable();
let marked: Promise<string> | null = null;

interface LockOptions {
  timeoutMs?: number;
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
  { timeoutMs = LOCK_TIMEOUT_MS, ownTree }: LockOptions = {},
): Promise<T> {
  const lock = join(gitDir, 'index.lock');
  const end = performance.now() + timeoutMs;
  for (let lookAt = 0; !(await lay(gitDir, lock)); ) {
    const now = performance.now();
    if (now >= lookAt && (await isLeftBehind(lock, ownTree))) await rm(lock, { force: true });
    else if (now > end) throw busy(lock, timeoutMs);
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

const busy = (lock: string, timeoutMs: number): SquadError =>
  new SquadError('GIT_BUSY', `Another git holds ${lock} for longer than ${timeoutMs / 1000} s.`, {
    suggestions: ['Wait for that git to end, or remove the file when none is at work there; then try again.'],
  });
