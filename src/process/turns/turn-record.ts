import { existsSync, readSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRegular, withRegular } from '../output/regular-file.ts';
import { wrapperName } from './wrapper.ts';

/** Record that the wrapper left: exit status and time. */
interface ExitRecord {
  status: number;
  at: number;
}

/** Null while there is none, or while it is being written. */
export function readExitRecord(folder: string): ExitRecord | null {
  const path = join(folder, 'exit');
  const text = readRegular(path);
  if (text === null || !/^\d+\n$/.test(text)) return null;
  return { status: Number(text), at: Math.round(statSync(path).mtimeMs) };
}

export const hasExitRecord = (folder: string): boolean => readExitRecord(folder) !== null;

/** The wrapper's pid; `empty`: the file has no content yet; null: there is no file. */
export function readWrapperPid(folder: string): number | 'empty' | null {
  const text = readRegular(join(folder, 'pid'));
  if (text === null) return null;
  return /^\d+\n$/.test(text) ? Number(text) : 'empty';
}

/** Start of the turn: when a wrapper took the folder; null: none did. */
export function takenAt(folder: string): number | null {
  const time = statSync(join(folder, 'pid'), { throwIfNoEntry: false })?.mtimeMs;
  return time === undefined ? null : Math.round(time);
}

/** Records on disk that this turn will never have an exit record. */
export function markGone(folder: string): void {
  try {
    writeFileSync(join(folder, 'gone'), '', { mode: 0o600 });
  } catch {
    // Only a hint for readers of the output; a full disk must not hide the end of a turn.
  }
}

/** No more output can come, so an incomplete last character stays incomplete. */
export const isOver = (folder: string): boolean => hasExitRecord(folder) || existsSync(join(folder, 'gone'));

/**
 * The shell's message if it could not start the program, else null. That message is then the only output, and starts with the
 * wrapper's name; a program that itself exits with 126 or 127 does not print that name.
 */
export function readSpawnError(folder: string, runId: string, status: number): string | null {
  const unconfined = readSandboxError(folder, status);
  if (unconfined !== null) return unconfined;
  if (status !== 126 && status !== 127) return null;
  if (sizeOf(join(folder, 'stdout')) > 0) return null;
  const said = readStart(join(folder, 'stderr'), 16_384);
  const prefix = `${wrapperName(runId)}: `;
  if (!said.startsWith(prefix) || said.indexOf('\n') !== said.length - 1) return null;
  // dash prints line numbers as `1: `, bash as `line 1: `; some shells add the builtin.
  return said
    .slice(prefix.length)
    .trim()
    .replace(/^(line )?\d+: /, '')
    .replace(/^exec: /, '');
}

/** In the turn's folder: bubblewrap's report. Agents can neither write to it nor replace it. */
export const SANDBOX_STATUS = 'sandbox.status';

/** The message of the programs that make a sandbox, if they ended before the agent's program could start. */
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

/** Structurally the core's `TurnRef`. */
export interface TurnKey {
  runId: string;
  number: number;
}

export const isRunName = (name: string): boolean => /^[A-Za-z0-9_-]+$/.test(name);

/** Everything of one run lives in one folder, everything of one of its turns in a folder below. */
export function runFolder(runsDir: string, runId: string): string {
  // The name becomes a path that we write to and delete.
  if (!isRunName(runId)) throw new Error(`Not a run id: ${JSON.stringify(runId)}`);
  return join(runsDir, runId);
}

export function turnFolder(runsDir: string, turn: TurnKey): string {
  if (!Number.isSafeInteger(turn.number) || turn.number < 0) throw new Error(`Not a turn: ${turn.number}`);
  return join(runFolder(runsDir, turn.runId), `turn-${turn.number}`);
}
