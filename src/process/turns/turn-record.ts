import {
  existsSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { readRegular, withRegular } from '../output/regular-file.ts';
import { FEED, wrapperName } from './wrapper.ts';

/** Exit status and time that the wrapper recorded. */
interface ExitRecord {
  status: number;
  at: number;
}

/** Null if there is no exit record, or while it is being written. */
export function readExitRecord(folder: string): ExitRecord | null {
  const path = join(folder, 'exit');
  const text = readRegular(path);
  if (text === null || !/^\d+\n$/.test(text)) return null;
  return { status: Number(text), at: Math.round(statSync(path).mtimeMs) };
}

export const hasExitRecord = (folder: string): boolean => readExitRecord(folder) !== null;

/** The wrapper's pid. `empty` means that the file has no content yet, null that there is no file. */
export function readWrapperPid(folder: string): number | 'empty' | null {
  const text = readRegular(join(folder, 'pid'));
  if (text === null) return null;
  return /^\d+\n$/.test(text) ? Number(text) : 'empty';
}

/**
 * Pid of the process that feeds the agent. Null if the turn is not fed. The content is untrusted, because an agent can
 * write to the file.
 */
export function readFeed(folder: string): number | null {
  const text = readRegular(join(folder, FEED));
  return text !== null && /^\d+\n$/.test(text) ? Number(text) : null;
}

/** Start of the turn: the time when a wrapper took the folder. Null if no wrapper did. */
export function takenAt(folder: string): number | null {
  const time = statSync(join(folder, 'pid'), { throwIfNoEntry: false })?.mtimeMs;
  return time === undefined ? null : Math.round(time);
}

/** Records on disk that this turn will never have an exit record. */
export function markGone(folder: string): void {
  try {
    writeFileSync(join(folder, 'gone'), '', { mode: 0o600 });
  } catch {
    // The file is only a hint for readers of the output. A full disk must not hide the end of a turn.
  }
}

/** Whether no more output can come, so that an incomplete last character stays incomplete. */
export const isOver = (folder: string): boolean => hasExitRecord(folder) || existsSync(join(folder, 'gone'));

/**
 * The shell's message if it could not start the program, else null. Such a message is the only output and starts with
 * the wrapper's name. A program that itself exits with 126 or 127 does not print that name.
 */
export function readSpawnError(folder: string, runId: string, status: number): string | null {
  const unconfined = readSandboxError(folder, status);
  if (unconfined !== null) return unconfined;
  if (status !== 126 && status !== 127) return null;
  if (sizeOf(join(folder, 'stdout')) > 0) return null;
  const said = readStart(join(folder, 'stderr'), 16_384);
  const prefix = `${wrapperName(runId)}: `;
  if (!said.startsWith(prefix) || said.indexOf('\n') !== said.length - 1) return null;
  // dash prints line numbers as `1: `, bash as `line 1: `. Some shells add the name of the builtin.
  return said
    .slice(prefix.length)
    .trim()
    .replace(/^(line )?\d+: /, '')
    .replace(/^exec: /, '');
}

/** File in the turn's folder with bubblewrap's status report. Agents can neither write to it nor replace it. */
export const SANDBOX_STATUS = 'sandbox.status';

/** Error message of the programs that create a sandbox, if they ended before the agent's program could start. */
function readSandboxError(folder: string, status: number): string | null {
  if (status === 0 || status > 128) return null;
  const report = readRegular(join(folder, SANDBOX_STATUS));
  if (report === null || report.includes('"exit-code"')) return null;
  const said = readStart(join(folder, 'stderr'), 16_384).trim().split('\n').at(-1) ?? '';
  const [, message] = /^(?:bwrap|nsenter): (.*)$/.exec(said) ?? [];
  if (message === undefined) return null;
  const [, program] = /^execvp (.*): No such file or directory$/.exec(message) ?? [];
  return program === undefined
    ? `its sandbox could not be made: ${message}`
    : `${program} is not visible in its sandbox, or its interpreter is not`;
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

function readStart(path: string, length: number): string {
  const buffer = Buffer.alloc(length);
  return buffer.toString('utf8', 0, withRegular(path, fd => readSync(fd, buffer, 0, length, 0)) ?? 0);
}

/** Seconds of the boot clock, in which the ends of leases are given. The wrapper reads the same clock. */
export function bootSeconds(): number {
  try {
    return Number.parseFloat(readFileSync('/proc/uptime', 'utf8'));
  } catch {
    return Date.now() / 1000;
  }
}

/**
 * Writes the time at which the wrapper ends the turn unless a later time is written. Call this before the turn starts.
 * A time earlier than the stored one has no effect.
 */
export function writeLease(folder: string, until: number): void {
  const now = Number(readRegular(join(folder, 'lease')) ?? 0);
  if (now >= Math.floor(until)) return;
  replaceLease(join(folder, 'lease'), until);
}

/** Lease of all turns of a hub, in the folder of runs. */
const HUB_LEASE = '.lease';

/** Writes the time at which all turns with `useHubLease` end. It may be earlier than the stored one. */
export const writeHubLease = (runsDir: string, until: number): void =>
  replaceLease(join(runsDir, HUB_LEASE), until);

/** Like `writeHubLease`, but only if the stored time is later. */
export function shortenHubLease(runsDir: string, until: number): void {
  if (Number(readRegular(join(runsDir, HUB_LEASE)) ?? 0) > until) writeHubLease(runsDir, until);
}

/** Makes the turn depend on the lease of the hub. Call this before the turn starts. */
export function useHubLease(folder: string): void {
  try {
    symlinkSync(join('..', '..', HUB_LEASE), join(folder, 'lease'));
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
  }
}

function replaceLease(file: string, until: number): void {
  writeFileSync(`${file}.new`, `${Math.floor(until)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

export const hasLease = (folder: string): boolean => existsSync(join(folder, 'lease'));

/** True if the wrapper ended the turn because its lease had expired. */
export const hasLapsed = (folder: string): boolean => existsSync(join(folder, 'lapsed'));

/** Same shape as the core's type `TurnRef`. */
export interface TurnKey {
  runId: string;
  number: number;
}

export const isRunName = (name: string): boolean => /^[A-Za-z0-9_-]+$/.test(name);

/** Each run has one folder, and each of its turns has a folder below that. */
export function runFolder(runsDir: string, runId: string): string {
  // The run id is checked because it becomes part of a path that Squad writes to and deletes.
  if (!isRunName(runId)) throw new Error(`Not a run id: ${JSON.stringify(runId)}`);
  return join(runsDir, runId);
}

export function turnFolder(runsDir: string, turn: TurnKey): string {
  if (!Number.isSafeInteger(turn.number) || turn.number < 0) throw new Error(`Not a turn: ${turn.number}`);
  return join(runFolder(runsDir, turn.runId), `turn-${turn.number}`);
}
