import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

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
