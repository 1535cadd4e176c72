import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Whether the process runs and is not a zombie: in a container a zombie may never be reaped. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  if (process.platform !== 'linux') return true;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const isDead = 'ZX'.includes(stat.charAt(stat.lastIndexOf(')') + 2));
    // The files of a process stay open until its last thread has ended.
    return !isDead || readdirSync(`/proc/${pid}/task`).length > 1;
  } catch {
    return false;
  }
}

/** A hub replies to a handshake before it does anything else, so a hub that takes longer is stuck or suspended. */
export const HELLO_MS = 10_000;

/** File with the hub's pid, needed when the hub does not answer. */
export const hubRecordPath = (home: string): string => join(home, 'hub.json');

/**
 * Pid of the home's hub, from its record or lock. Null if that process is not the hub: another program may have got
 * the pid.
 */
export function hubPid(home: string): number | null {
  return (
    recordedHub(home) ?? lockHolders(lockPath(home)).find(pid => isRunning(pid) && isHub(pid, home)) ?? null
  );
}

/**
 * Another process that is this home's hub according to its record, even if its lock file is gone. Linux only: elsewhere
 * the recorded pid may belong to another program. A hub with a lock is not searched for, because reading /proc/locks
 * takes 15 ms or more: the kernel first waits until no process is changing a lock.
 */
export function otherHub(home: string): number | null {
  const pid = process.platform === 'linux' ? recordedHub(home) : null;
  return pid === process.pid ? null : pid;
}

function recordedHub(home: string): number | null {
  const pid = recordedPid(home);
  return pid !== null && isRunning(pid) && isHub(pid, home) ? pid : null;
}

/** Whether a process listens on a socket of this path, even if the socket file was removed. Linux only. */
export function isBound(socket: string): boolean {
  try {
    const lines = readFileSync('/proc/net/unix', 'utf8').split('\n');
    return lines.some(line => line.endsWith(` ${socket}`) && line.split(/\s+/)[3] === LISTENING);
  } catch {
    return false;
  }
}

const LISTENING = '00010000';

/** The hub holds this lock as long as it runs. */
export const lockPath = (home: string): string => join(home, 'hub.lock');

/** Processes that hold a lock on this file. Linux only. */
function lockHolders(file: string): number[] {
  try {
    const { ino } = statSync(file);
    // Format: `1: POSIX ADVISORY WRITE <pid> <major>:<minor>:<inode> <start> <end>`. Overlay file systems report other
    // device numbers, so only the inode is compared.
    const locks = readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .map(line => line.trim().split(/\s+/));
    return locks.filter(([, , , , , place]) => place?.endsWith(`:${ino}`)).map(fields => Number(fields[4]));
  } catch {
    return [];
  }
}

/** Error for a hub that did not reply to a handshake. */
export function noAnswer(home: string): Error & { code: string; suggestions: string[] } {
  const recorded = recordedPid(home);
  const pid = recorded !== null && isRunning(recorded) ? recorded : null;
  return Object.assign(new Error(`The hub${pid === null ? '' : ` (pid ${pid})`} does not answer`), {
    code: 'HUB_UNREACHABLE',
    suggestions: [
      'If the hub does not answer again soon, run `squad hub stop --force`. Agents keep running, and the next command starts a new hub.',
      '`squad hub log` shows what the hub did last.',
    ],
  });
}

export function recordedPid(home: string): number | null {
  try {
    const { pid } = JSON.parse(readFileSync(hubRecordPath(home), 'utf8'));
    return Number.isSafeInteger(pid) && pid > 1 ? pid : null;
  } catch {
    return null;
  }
}

function isHub(pid: number, home: string): boolean {
  if (process.platform !== 'linux') return true;
  try {
    const values = (file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0');
    return (
      values('cmdline').some(value => value.endsWith('hub.cjs')) &&
      values('environ').includes(`SQUAD_HOME=${home}`)
    );
  } catch {
    return false;
  }
}
