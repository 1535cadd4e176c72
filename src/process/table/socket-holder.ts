import { statSync } from 'node:fs';
import { descendantsOf } from './descendants.ts';
import { heldBy, ownProcesses } from './holders.ts';

/** Programs that hold one connection to us mostly hold several, or open the next one soon. */
const MAX_REMEMBERED = 32;

export interface SocketHolders {
  /** The process of our own user that holds the socket with this inode; null when none shows it. */
  holderOf(inode: string): number | null;
  /** Whether a process below these hides what it holds: one of them may be the holder that was not found. */
  anyHidesBelow(pids: readonly number[]): boolean;
}

/** Linux only. A look at every process takes milliseconds, so the last holders are asked first. */
export function createSocketHolders(): SocketHolders {
  const last = new Set<number>();
  return {
    holderOf(inode) {
      const isIt = (link: string) => link === `socket:[${inode}]`;
      const recent = [...last].reverse();
      const pid = firstOf(recent, isIt) ?? firstOf(ownProcesses(), isIt);
      if (pid === null) return null;
      last.delete(pid);
      last.add(pid);
      if (last.size > MAX_REMEMBERED) last.delete([...last][0]!);
      return pid;
    },

    anyHidesBelow: pids => pids.flatMap(pid => [pid, ...descendantsOf(pid)]).some(hides),
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
