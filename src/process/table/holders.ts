import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';

/** One open descriptor of a process, as `/proc` shows it. */
export interface Held {
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
