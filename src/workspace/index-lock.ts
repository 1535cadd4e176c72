import { randomBytes } from 'node:crypto';
import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { SquadError } from '../schema/error.ts';

/** How long the agent's own git is waited for. */
const PATIENCE_MS = 10_000;
const TRY_EVERY_MS = 10;

const MARK = `squad ${process.pid} ${randomBytes(8).toString('hex')}\n`;

/** Does the work while no git changes the index: it is git's own lock. One that a hub left behind when it died is taken over. */
export async function withIndexLock<T>(gitDir: string, work: () => Promise<T>): Promise<T> {
  const lock = join(gitDir, 'index.lock');
  const end = performance.now() + PATIENCE_MS;
  while (!(await lay(lock))) {
    if (await isLeftBehind(lock)) await rm(lock, { force: true });
    else if (performance.now() > end) throw busy(lock);
    // Not in step with whoever else tries.
    else await pause(TRY_EVERY_MS * (1 + Math.random()));
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

async function lay(lock: string): Promise<boolean> {
  const file = await open(lock, 'wx', 0o600).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'EEXIST') return null;
    throw thrown;
  });
  await file?.writeFile(MARK).finally(() => file.close());
  return file !== null;
}

async function isLeftBehind(lock: string): Promise<boolean> {
  const content = await readFile(lock, 'latin1').catch(() => '');
  const pid = Number(/^squad (\d+) [0-9a-f]{16}\n$/.exec(content)?.[1]);
  if (!pid || content === MARK) return false;
  // A process has this number again, and it is us.
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

const busy = (lock: string): SquadError =>
  new SquadError('GIT_FAILED', `Another git holds ${lock} for longer than ${PATIENCE_MS / 1000} s.`, {
    suggestions: ['Wait for that git to end, or remove the file when none is at work there; then try again.'],
  });
