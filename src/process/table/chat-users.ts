import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { processStart } from './proc-source.ts';
import { RUN_VARIABLE } from './process-info.ts';

/** A process of an agent CLI that was not started by Squad. */
export interface CliProcess {
  pid: number;
  command: string;
}

export interface ChatTraces {
  /** Id of the chat, which the command line of a process may contain. */
  id: string;
  /** File that a process with the chat open may hold open. */
  file: string | null;
  /** Processes that are said to have the chat open. */
  claimedBy: readonly number[];
  /**
   * Working folder of the processes that may have the chat open, if they started before the chat's last change. Null if
   * other traces are enough.
   */
  folder: { path: string; changedAt: number } | null;
}

interface Candidate extends CliProcess {
  argv: string[];
  cwd: string | null;
  startedAt: number;
  files: Set<string>;
}

/**
 * The process that has each chat open, as far as this user may see that. Null for a chat that no process seems to have
 * open, and on systems that do not report it.
 */
export function chatUsers(
  programs: readonly string[],
  chats: readonly ChatTraces[],
  platform: string = process.platform,
): (CliProcess | null)[] {
  const found = platform === 'linux' ? candidates(programs) : [];
  return chats.map(chat => {
    const user = found.find(each => hasOpen(each, chat));
    return user ? { pid: user.pid, command: user.command } : null;
  });
}

const hasOpen = (
  { pid, argv, cwd, startedAt, files }: Candidate,
  { id, file, claimedBy, folder }: ChatTraces,
): boolean =>
  claimedBy.includes(pid) ||
  argv.some(word => word === id || word.endsWith(`=${id}`)) ||
  (file !== null && files.has(file)) ||
  (folder !== null && cwd === folder.path && startedAt <= folder.changedAt);

const COMMAND_LENGTH = 200;

function candidates(programs: readonly string[]): Candidate[] {
  return readdirSync('/proc').flatMap(name => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    const argv = read(`/proc/${pid}/cmdline`).split('\0').slice(0, -1);
    // A script's own name comes after its interpreter and the interpreter's options.
    const isCli = argv.slice(0, 4).some(word => programs.includes(basename(word)));
    if (!isCli || isOfRun(pid)) return [];
    const startedAt = processStart(pid);
    if (startedAt === null) return [];
    const command = argv.join(' ').slice(0, COMMAND_LENGTH);
    return [{ pid, command, argv, cwd: link(`/proc/${pid}/cwd`), startedAt, files: openFiles(pid) }];
  });
}

/** Squad knows by itself which chats its runs use. */
const isOfRun = (pid: number): boolean =>
  read(`/proc/${pid}/environ`)
    .split('\0')
    .some(entry => entry.startsWith(`${RUN_VARIABLE}=`));

function openFiles(pid: number): Set<string> {
  try {
    const open = readdirSync(`/proc/${pid}/fd`).map(fd => link(`/proc/${pid}/fd/${fd}`));
    return new Set(open.filter(path => path !== null));
  } catch {
    return new Set(); // the process has just ended, or belongs to another user
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function link(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
