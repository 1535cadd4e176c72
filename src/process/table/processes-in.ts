import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { isOwnProgram } from '../programs/run-program.ts';

export interface ProcessIn {
  pid: number;
  command: string;
}

const COMMAND_LENGTH = 200;

/** Processes whose working folder is this one or lies in it, as far as we may look; null where the system does not say. */
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
    // A name may hold anything, and ends with the last bracket: state, parent, group and session follow.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]);
  } catch {
    return Number.NaN; // it has just ended
  }
}

function workingFolder(pid: string): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null; // it has just ended, or is another user's
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
