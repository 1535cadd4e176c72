import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { nullIfMissing } from '../../base/missing-file.ts';
import { SquadError } from '../../schema/error.ts';
import { createFile } from './text-file.ts';

/** Timeout for a lock. Work under a lock takes milliseconds. */
const LOCK_TIMEOUT_MS = 15_000;
/** Time after which a lock counts as abandoned: DEAD_MS if its process is dead, STUCK_MS in any case. */
const DEAD_MS = 1_000;
const STUCK_MS = 5_000;
const TRY_EVERY_MS = 10;
/** Lock files are not synced to disk, because a lock need not survive a crash. */
const HERE = { mode: 0o600, sync: false };

/** Runs `work` while no other process holds the same lock. The lock is a file that exists meanwhile. */
export async function withLock<T>(lock: string, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(lock), { recursive: true, mode: 0o700 });
  const mark = `${process.pid} ${randomBytes(8).toString('hex')}\n`;
  await take(lock, mark);
  try {
    return await work();
  } finally {
    // An error here is ignored: the work is done or reports its own error, and other processes remove an abandoned
    // lock.
    await removeIf(lock, mark).catch(() => {});
  }
}

/** Resolves when the lock is free or abandoned. Never rejects. */
export async function whenFree(lock: string): Promise<void> {
  const end = performance.now() + LOCK_TIMEOUT_MS;
  const watch = new HolderWatch();
  while (performance.now() < end) {
    const holder = await readFile(lock, 'utf8').catch(() => null);
    if (holder === null || watch.isLeftBehind(holder)) return;
    await pause(TRY_EVERY_MS);
  }
}

async function take(lock: string, mark: string): Promise<void> {
  const end = performance.now() + LOCK_TIMEOUT_MS;
  const watch = new HolderWatch();
  while (!(await createFile(lock, mark, HERE))) {
    const holder = await readFile(lock, 'utf8').catch(nullIfMissing);
    const isLeftBehind = holder !== null && watch.isLeftBehind(holder);
    if (performance.now() > end) throw busy(lock, watch.holder);
    if (isLeftBehind) await removeLeftBehind(lock, holder);
    // A random delay, so that several waiters do not collide every time.
    await pause(TRY_EVERY_MS * (1 + Math.random()));
  }
}

/** Measures how long a holder was observed instead of reading the file's time, because clocks can be changed. */
class HolderWatch {
  holder = '';
  private since = performance.now();

  isLeftBehind(holder: string): boolean {
    const now = performance.now();
    if (holder !== this.holder) {
      this.holder = holder;
      this.since = now;
    }
    return now - this.since > (isGone(holder) ? DEAD_MS : STUCK_MS);
  }
}

/**
 * Only one process at a time may remove an abandoned lock. Otherwise a second process that saw the same holder would
 * remove the lock that the first has just taken.
 */
async function removeLeftBehind(lock: string, holder: string): Promise<void> {
  const turn = `${lock}.break`;
  if (await createFile(turn, '', HERE)) {
    await removeIf(lock, holder).finally(() => rm(turn, { force: true }));
    return;
  }
  const { mtimeMs } = await stat(turn).catch(() => ({ mtimeMs: Date.now() }));
  if (Math.abs(Date.now() - mtimeMs) > STUCK_MS) await rm(turn, { force: true });
}

async function removeIf(lock: string, mark: string): Promise<void> {
  if ((await readFile(lock, 'utf8').catch(nullIfMissing)) === mark) await rm(lock, { force: true });
}

function isGone(holder: string): boolean {
  const pid = Number.parseInt(holder, 10);
  // The lock file was just created and is still empty.
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

function busy(lock: string, holder: string): SquadError {
  const pid = Number.parseInt(holder, 10);
  const by = pid > 0 ? `process ${pid}` : 'an unknown process';
  return new SquadError(
    'HOME_UNUSABLE',
    `Timed out waiting for ${lock} (held by ${by}). Nothing was written.`,
    { suggestions: ['Wait for other squad commands to end, or remove that file; then try again.'] },
  );
}
