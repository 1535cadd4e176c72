import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { isOwnProgram } from '../programs/run-program.ts';

export interface ProcessIn {
  pid: number;
  command: string;
}

const COMMAND_LENGTH = 200;

/**
 * Processes whose working folder is this folder or below it, as far as this user may read that. Null where the system
 * does not report working folders.
 */
export function processesIn(folder: string, platform: string = process.platform): ProcessIn[] | null {
  if (platform !== 'linux') return null;
  const found: ProcessIn[] = [];
  for (const entry of readdirSync('/proc')) {
    const cwd = /^\d+$/.test(entry) ? workingFolder(entry) : null;
    if (cwd === folder || cwd?.startsWith(`${folder}/`))
      found.push({ pid: Number(entry), command: commandOf(entry) });
  }
  return found;
}

/** Processes in the folder, without short-lived programs that this process has started itself. */
export function strangersIn(folder: string): ProcessIn[] | null {
  return processesIn(folder)?.filter(({ pid }) => !isOwnProgram(sessionOf(pid))) ?? null;
}

function sessionOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The process name may contain anything and ends with the last bracket. State, parent, group and session follow
    // it.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]);
  } catch {
    return Number.NaN; // the process has just ended
  }
}

function workingFolder(pid: string): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null; // the process has just ended, or belongs to another user
  }
}

function commandOf(pid: string): string {
  try {
    return (
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim().slice(0, COMMAND_LENGTH) ||
      '?'
    );
  } catch {
    return '?';
  }
}
