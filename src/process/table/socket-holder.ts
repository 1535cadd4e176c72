import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { descendantsOf } from './descendants.ts';

/** An open file descriptor of a process, from `/proc`. */
interface Held {
  pid: number;
  fd: string;
}

/**
 * File descriptors of this user's processes whose `/proc` link matches. Linux only. Processes that hide their
 * descriptors (undumpable ones, or those of another user) are not included.
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

/** Every process of this user, youngest first, because clients are usually younger than other processes. */
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
    return false; // the descriptor was closed while it was read
  }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // the process is gone, or hides its descriptors
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

/** Number of holders to remember. A program with one connection to the hub usually has more, or soon opens another. */
const MAX_REMEMBERED = 32;

/**
 * Linux only. Checking every process takes milliseconds, so processes that held a socket recently are checked first.
 */
export function createSocketHolders() {
  const last = new Set<number>();
  /** Holders of sockets that were found in this turn of the event loop. Later the kernel may reuse an inode. */
  const seen = new Map<string, number>();
  const holderAmong = (pids: Iterable<number>, socket: string): number | undefined => {
    for (const pid of pids) {
      for (const link of socketsOf(pid)) if (!seen.has(link)) seen.set(link, pid);
      if (seen.has(socket)) return pid;
    }
    return undefined;
  };
  return {
    /** The process of this user that holds the socket with this inode. Null when no process shows it. */
    holderOf(inode: string): number | null {
      const socket = `socket:[${inode}]`;
      if (seen.size === 0) setImmediate(() => seen.clear());
      const pid =
        seen.get(socket) ?? holderAmong([...last].reverse(), socket) ?? holderAmong(ownProcesses(), socket);
      if (pid === undefined) return null;
      last.delete(pid);
      last.add(pid);
      if (last.size > MAX_REMEMBERED) last.delete([...last][0]!);
      return pid;
    },

    /**
     * Whether a descendant of these processes hides its descriptors. Such a process may be the holder that was not
     * found.
     */
    anyHidesBelow: (pids: readonly number[]): boolean =>
      pids.flatMap(pid => [pid, ...descendantsOf(pid)]).some(hides),
  };
}

/** Whether a process hides its descriptors. The kernel makes root the owner of an undumpable process's files. */
function hides(pid: number): boolean {
  try {
    return statSync(`/proc/${pid}/fd`).uid !== process.getuid?.();
  } catch {
    return false; // the process is gone
  }
}

const socketsOf = (pid: number): string[] =>
  names(`/proc/${pid}/fd`).flatMap(fd => {
    const link = linkOf(`/proc/${pid}/fd/${fd}`);
    return link?.startsWith('socket:') ? link : [];
  });

/** A client normally answers within a millisecond, but a busy machine may delay it. */
const ANSWER_TIMEOUT_MS = 5_000;
const MAX_PAUSE_MS = 20;

/** Linux only: on other systems it is expensive to find out which process holds a file. */
export const canProveProcesses = process.platform === 'linux';

/** Node cannot tell which process is at the other end of a socket, so the client has to prove it. */
export function createProcessProofs(folder: string, timeoutMs = ANSWER_TIMEOUT_MS) {
  // An earlier hub may have been killed between making a file and removing it.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
  return {
    /**
     * Finds the process at the other end of a connection. Null when the client did not prove it. `ask` sends the
     * client the path of a file, which the client opens for writing, writes to, and keeps open. A client cannot make
     * another process do that, so the pid that it claims is only a hint where to search first.
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

/**
 * Compares only the end of the path, because a process in its own mount namespace may see the folder under another
 * name.
 */
function writerOf(file: string, claimed: number): number | null {
  const end = `/${basename(file)}`;
  // Only a process that writes to the file counts, because indexers and backup programs read new files.
  const writerIn = (pids: number[]) => heldBy(pids, link => link.endsWith(end)).find(isWritable)?.pid ?? null;
  return writerIn([claimed]) ?? writerIn(ownProcesses().filter(pid => pid !== process.pid));
}
