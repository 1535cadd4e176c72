import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { descendantsOf } from './descendants.ts';

/** One open descriptor of a process, as `/proc` shows it. */
interface Held {
  pid: number;
  fd: string;
}

/**
 * Descriptors of our own user's processes whose `/proc` link matches. Linux only. A process that hides its descriptors (it
 * made itself undumpable, or is another user's) has none here.
 */
export function heldBy(pids: Iterable<number>, matches: (link: string) => boolean): Held[] {
  const found: Held[] = [];
  for (const pid of pids)
    for (const fd of names(`/proc/${pid}/fd`)) {
      const link = linkOf(`/proc/${pid}/fd/${fd}`);
      if (link !== null && matches(link)) found.push({ pid, fd });
    }
  return found;
}

/** Every process of our own user, the youngest first: clients are younger than what they run in. */
export function ownProcesses(): number[] {
  const uid = process.getuid?.();
  const pids = names('/proc').map(Number).filter(Number.isInteger);
  return pids
    .filter(pid => statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === uid)
    .sort((a, b) => b - a);
}

/** Whether the descriptor was opened for writing. */
export function isWritable({ pid, fd }: Held): boolean {
  try {
    const [, flags] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8')) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & 0o3) !== 0;
  } catch {
    return false; // closed since
  }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // the process is gone, or hides them
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

/** A program with one connection to us usually has several, or opens the next one soon. */
const MAX_REMEMBERED = 32;

/** Linux only. Checking every process takes milliseconds, so the last holders are checked first. */
export function createSocketHolders() {
  const last = new Set<number>();
  return {
    /** The process of our own user that holds the socket with this inode; null when none shows it. */
    holderOf(inode: string): number | null {
      const isIt = (link: string) => link === `socket:[${inode}]`;
      const recent = [...last].reverse();
      const pid = firstOf(recent, isIt) ?? firstOf(ownProcesses(), isIt);
      if (pid === null) return null;
      last.delete(pid);
      last.add(pid);
      if (last.size > MAX_REMEMBERED) last.delete([...last][0]!);
      return pid;
    },

    /** Whether a process below these hides its descriptors: it may be the holder that was not found. */
    anyHidesBelow: (pids: readonly number[]): boolean =>
      pids.flatMap(pid => [pid, ...descendantsOf(pid)]).some(hides),
  };
}

/** The kernel gives the files of a process that made itself undumpable to root. */
function hides(pid: number): boolean {
  try {
    return statSync(`/proc/${pid}/fd`).uid !== process.getuid?.();
  } catch {
    return false; // it is gone
  }
}

function firstOf(pids: Iterable<number>, matches: (link: string) => boolean): number | null {
  for (const pid of pids) if (heldBy([pid], matches).length > 0) return pid;
  return null;
}

/** A client answers within a millisecond; a busy machine may keep it waiting. */
const ANSWER_TIMEOUT_MS = 5_000;
const MAX_PAUSE_MS = 20;

/** Linux only: elsewhere the system does not say cheaply who holds a file. */
export const canProveProcesses = process.platform === 'linux';

/** Node does not tell who is at the other end of a socket, so the client has to show it. */
export function createProcessProofs(folder: string, timeoutMs = ANSWER_TIMEOUT_MS) {
  // An earlier hub may have been killed between making a file and removing it.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
  return {
    /**
     * The process at the other end of a connection; null when nobody proved it. `ask` sends the client the path of a file,
     * which it opens for writing, writes to, and keeps open. A client cannot make another process do that, so the pid that it
     * claims only says where to look first.
     */
    async processOf(claimed: number, ask: (file: string) => void): Promise<number | null> {
      const file = join(folder, randomBytes(16).toString('hex'));
      writeFileSync(file, '', { mode: 0o600, flag: 'wx' });
      try {
        ask(file);
        return (await isWritten(file, timeoutMs)) ? writerOf(file, claimed) : null;
      } finally {
        rmSync(file, { force: true });
      }
    },
  };
}

async function isWritten(file: string, timeoutMs: number): Promise<boolean> {
  const until = performance.now() + timeoutMs;
  for (let pause = 1; performance.now() < until; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0) return true;
    await delay(pause);
  }
  return false;
}

/** By the end of the path: a process in a mount namespace of its own may know the folder under another name. */
function writerOf(file: string, claimed: number): number | null {
  const end = `/${basename(file)}`;
  // Indexers and backups read files as they appear; only the client writes to this one.
  const writerIn = (pids: number[]) => heldBy(pids, link => link.endsWith(end)).find(isWritable)?.pid ?? null;
  return writerIn([claimed]) ?? writerIn(ownProcesses().filter(pid => pid !== process.pid));
}
