import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync, statSync } from 'node:fs';
import { uptime } from 'node:os';
import { type ProcessInfo, type ProcessSource, type Tag, tagOf } from './process-info.ts';

/** Linux reports 100 ticks per second to user space on every platform that Node supports. */
const TICK_MS = 10;
/**
 * Limit for following parents. They are read one by one while processes come and go, so a reused pid could cause a
 * loop.
 */
const MAX_LINE_LENGTH = 1000;
/** Flag in `/proc/PID/stat`. Kernel threads have no environment and never belong to a turn. */
const KERNEL_THREAD = 0x200000;

/** Number of new processes from which a list of all processes costs less, because callers share it. */
const MAX_LATER = 50;

/**
 * Process source for Linux. Reads are synchronous: the kernel answers from memory, and a list read without pauses is
 * more consistent.
 */
export function createProcSource({ maxLater = MAX_LATER } = {}): ProcessSource {
  const buffer = Buffer.allocUnsafe(4096);
  let known = new Map<number, { startTime: string; name: string; tag: Tag | null }>();

  return {
    async list() {
      const bootedAt = Date.now() - uptime() * 1000;
      const found: ProcessInfo[] = [];
      for (const entry of readdirSync('/proc')) {
        const pid = Number(entry);
        const info = Number.isInteger(pid) ? readStat(pid, buffer, bootedAt) : null;
        if (info) found.push(info);
      }
      return found;
    },

    async line(pid) {
      const found: ProcessInfo[] = [];
      if (!isOwn(pid)) return found;
      const bootedAt = Date.now() - uptime() * 1000;
      for (let next = pid; next > 1 && found.length < MAX_LINE_LENGTH; ) {
        const info = readStat(next, buffer, bootedAt);
        if (!info) break;
        found.push(info);
        next = info.ppid;
      }
      return found;
    },

    async tags(processes) {
      const tags = new Map<number, Tag>();
      const remembered: typeof known = new Map();
      for (const { pid, startTime, name } of processes) {
        const before = known.get(pid);
        // The environment of a process changes only when it executes another program.
        const isSame = before?.startTime === startTime && before.name === name;
        const tag = isSame ? before.tag : readTag(pid);
        if (tag !== undefined) remembered.set(pid, { startTime, name, tag });
        if (tag) tags.set(pid, tag);
      }
      known = remembered;
      return tags;
    },

    countStarted: () => countStarted(),

    listAfter(pid, count) {
      const now = countStarted();
      if (now === null || now <= count) return null;
      const isLater = laterThan(pid, now - count, highestPid());
      if (isLater === null) return null;
      const later = readdirSync('/proc').map(Number).filter(isLater);
      if (later.length > maxLater) return null;
      const bootedAt = Date.now() - uptime() * 1000;
      const found = later.flatMap(each => readStat(each, buffer, bootedAt) ?? []);
      const tags = found.flatMap(({ pid }): [number, Tag][] => {
        const tag = readTag(pid);
        return tag ? [[pid, tag]] : [];
      });
      // A process that was started meanwhile may be missing in the list, and its parent may already be gone.
      return countStarted() === now ? [found, new Map(tags)] : null;
    },

    alive({ pid, startTime }) {
      try {
        return readStat(pid, buffer, 0)?.startTime === startTime;
      } catch {
        return true;
      }
    },

    ioBytes({ pid }) {
      const text = buffer.toString('latin1', 0, readInto(`/proc/${pid}/io`, buffer));
      const [, read, written] = IO.exec(text) ?? [];
      return read === undefined ? null : Number(read) + Number(written);
    },

    async command({ pid, name }) {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() || name;
      } catch {
        return name;
      }
    },
  };
}

/** Start of a process on the wall clock. Null if the process is gone or hidden. */
export const processStart = (pid: number): number | null =>
  readStat(pid, Buffer.allocUnsafe(4096), Date.now() - uptime() * 1000)?.startedAt ?? null;

const IO = /^rchar: (\d+)\nwchar: (\d+)$/m;

function readStat(pid: number, buffer: Buffer, bootedAt: number): ProcessInfo | null {
  const length = readInto(`/proc/${pid}/stat`, buffer);
  if (length === 0) return null;
  const text = buffer.toString('latin1', 0, length);
  // The name is in brackets and may itself contain brackets.
  const close = text.lastIndexOf(')');
  const fields = text.slice(close + 2).split(' ', 20);
  const [state, ppid, pgid, sid] = fields;
  const ticks = fields[19];
  if (!ticks || state === 'Z' || state === 'X' || Number(fields[6]) & KERNEL_THREAD) return null;
  return {
    pid,
    ppid: Number(ppid),
    pgid: Number(pgid),
    sid: Number(sid),
    startTime: ticks,
    startedAt: bootedAt + Number(ticks) * TICK_MS,
    name: text.slice(text.indexOf('(') + 1, close),
    isStopped: state === 'T' || state === 't',
    // User and system time of the process, then of the children that it has waited for.
    cpuMs: fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0) * TICK_MS,
  };
}

/** The count includes threads, because the kernel numbers them like processes. */
function countStarted(): number | null {
  try {
    return Number(/^processes (\d+)$/m.exec(readFileSync('/proc/stat', 'latin1'))?.[1] ?? Number.NaN) || null;
  } catch {
    return null;
  }
}

/** First pid that the kernel assigns after it has used the highest pid. */
const FIRST_PID_AGAIN = 300;
/** Maximum number of pids that the kernel may skip because they are in use. */
const MAX_SKIPPED = 2_000;

/**
 * Returns which pids the kernel can have assigned to the next `started` processes and threads after `pid`. The kernel
 * assigns pids in ascending order. Null means any pid.
 */
export function laterThan(
  pid: number,
  started: number,
  highest: number,
): ((other: number) => boolean) | null {
  const count = 2 * started + MAX_SKIPPED;
  if (!(count < highest / 2)) return null;
  const last = pid + count;
  const lastAgain = last - highest + FIRST_PID_AGAIN;
  return other => (other > pid ? other <= last : other <= lastAgain);
}

/** NaN when the system does not report the highest pid. */
function highestPid(): number {
  try {
    return Number(readFileSync('/proc/sys/kernel/pid_max', 'latin1'));
  } catch {
    return Number.NaN;
  }
}

/** Undefined while the tag is unknown: a process that is just executing another program shows an empty environment. */
function readTag(pid: number): Tag | null | undefined {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`);
    if (environment.length === 0) return own(pid, outputTag(pid)) ?? undefined;
    return own(pid, tagOf(name => variable(environment, name)) ?? outputTag(pid));
  } catch {
    return null;
  }
}

/** Processes of other users never count, even where root may read them. */
const own = (pid: number, tag: Tag | null): Tag | null => (tag && isOwn(pid) ? tag : null);

function isOwn(pid: number): boolean {
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === process.getuid?.();
}

/** A process that cleared its environment may still hold the output file of its turn open. */
function outputTag(pid: number): Tag | null {
  for (const stream of [1, 2]) {
    try {
      const [, runId, turn] = OUTPUT.exec(readlinkSync(`/proc/${pid}/fd/${stream}`)) ?? [];
      if (runId && turn) return { runId, turn };
    } catch {
      // The descriptor is closed, or hidden from this user.
    }
  }
  return null;
}

const OUTPUT = /\/([\w-]+)\/turn-(\d+)\/std(?:out|err)(?: \(deleted\))?$/;

function variable(environment: Buffer, name: string): string | null {
  const wanted = `${name}=`;
  for (let at = environment.indexOf(wanted); at >= 0; at = environment.indexOf(wanted, at + 1)) {
    if (at > 0 && environment[at - 1] !== 0) continue;
    const end = environment.indexOf(0, at);
    return environment.toString('utf8', at + wanted.length, end < 0 ? environment.length : end);
  }
  return null;
}

/**
 * Returns the number of bytes read, 0 when the process is gone or hidden. Other errors, such as no free descriptor,
 * are thrown.
 */
function readInto(path: string, buffer: Buffer): number {
  let fd: number | undefined;
  try {
    fd = openSync(path, 'r');
    return readSync(fd, buffer, 0, buffer.length, 0);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES' || code === 'EPERM') return 0;
    throw error;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
