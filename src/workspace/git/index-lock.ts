import { randomBytes } from 'node:crypto';
import { lstat, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createProcessTable } from '../../process/table/process-table.ts';
import { processesIn } from '../../process/table/processes-in.ts';
import { SquadError } from '../../schema/error.ts';
import { linkOrCopy } from '../files/hard-links.ts';

/** How long Squad waits for a lock that the agent's own git holds. */
const LOCK_TIMEOUT_MS = 10_000;
const TRY_EVERY_MS = 10;
const CHECK_EVERY_MS = 250;

/** Age from which an empty lock file counts as abandoned. A running git fills its lock file much sooner. */
const STALE_MS = 5_000;

const processes = createProcessTable();
let marked: Promise<string> | null = null;

interface LockOptions {
  timeoutMs?: number;
  /** Path of a work tree that Squad created, where only the run's own git works. */
  ownTree?: string;
}

/**
 * Runs the work under git's own lock on the index, so that no git changes the index meanwhile. Takes over a lock that
 * a dead hub left behind. In a work tree of Squad it also takes over the empty lock of a killed git. Throws GIT_BUSY.
 */
export async function withIndexLock<T>(
  gitDir: string,
  work: () => Promise<T>,
  { timeoutMs = LOCK_TIMEOUT_MS, ownTree }: LockOptions = {},
): Promise<T> {
  const lock = join(gitDir, 'index.lock');
  const end = performance.now() + timeoutMs;
  for (let nextCheck = 0; !(await createLock(gitDir, lock)); ) {
    const now = performance.now();
    if (now >= nextCheck && (await isLeftBehind(lock, ownTree))) await rm(lock, { force: true });
    else if (now > end) throw busy(lock, timeoutMs);
    // A random delay, so that several waiters do not collide every time.
    else await pause(TRY_EVERY_MS * (1 + Math.random()));
    if (now >= nextCheck) nextCheck = now + CHECK_EVERY_MS;
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

/**
 * The lock file is written first and then linked into place, so that it names its process even if that process is
 * killed at once.
 */
async function createLock(gitDir: string, lock: string): Promise<boolean> {
  const own = join(gitDir, `squad-index-lock-${randomBytes(8).toString('hex')}`);
  marked ??= markOfThisProcess();
  await writeFile(own, await marked, { mode: 0o600, flag: 'wx' });
  try {
    await linkOrCopy(own, lock);
    return true;
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    // ENOENT: another process may have removed Squad's file.
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
  // A time in the future means that the clock was set back.
  const isFresh = Math.abs(Date.now() - stats.mtimeMs) < STALE_MS;
  if (content !== '' || ownTree === undefined || isFresh) return false;
  const there = processesIn(ownTree);
  return there !== null && !there.some(({ command }) => GIT.test(command));
}

const MARK = /^squad (\d+) (.+)\n$/;
const GIT = /^(\S*\/)?git(-\S+)?( |$)/;

const busy = (lock: string, timeoutMs: number): SquadError =>
  new SquadError(
    'GIT_BUSY',
    `Another git process has held the lock file ${lock} for more than ${timeoutMs / 1000} s.`,
    {
      suggestions: [
        'Wait for that process to end, or remove the file if no git is running there. Then try again.',
      ],
    },
  );
