import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, copyFileSync, openSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openWithoutLinks } from '../output/own-folder.ts';
import { findExecutable } from '../programs/find-executable.ts';
import type { TurnSandbox } from '../sandbox/sandbox-arguments.ts';
import { type Confinement, FIRST_FD } from '../sandbox/sandboxes.ts';
import { RUN_VARIABLE, TURN_VARIABLE } from '../table/process-info.ts';
import type { TurnKey } from './turn-record.ts';
import { wrapperArguments } from './wrapper.ts';

/** Same shape as the core's type `TurnStart`. */
export interface TurnStart extends TurnKey {
  command: { argv: [string, ...string[]]; stdin: string | null; env: Record<string, string>; isFed?: true };
  cwd: string;
  sandbox: TurnSandbox | null;
  hardLimitMs: number;
}

/**
 * Starts the wrapper in its own session, with files for its output. The wrapper outlives this process, which does not
 * wait for it. `confine` is called for a turn with a sandbox. A turn that cannot be confined is not started.
 */
export async function spawnWrapper(
  turn: TurnStart,
  folder: string,
  confine: (turn: TurnStart & { sandbox: TurnSandbox }) => Promise<Confinement>,
): Promise<ChildProcess & { pid: number }> {
  const files: number[] = [];
  const keep = (fd: number): number => {
    files.push(fd);
    return fd;
  };
  const open = (path: string, flags: string): number => keep(openSync(path, flags, 0o600));

  try {
    const [program, ...rest] = turn.command.argv;
    const command = [programPath(program, turn), ...rest];
    const { sandbox } = turn;
    const confined = sandbox === null ? null : await confine({ ...turn, sandbox });
    const argv = [...(confined?.prefix ?? []), ...command];
    const { runId, hardLimitMs } = turn;
    const wrapper = wrapperArguments(runId, folder, hardLimitMs, argv, turn.command.isFed);
    const child = spawn('/bin/sh', wrapper, {
      cwd: turn.cwd,
      env: {
        ...(confined?.env ?? turn.command.env),
        [RUN_VARIABLE]: runId,
        [TURN_VARIABLE]: String(turn.number),
      },
      detached: true,
      stdio: [
        confined && turn.command.stdin !== null
          ? openCopy(turn.command.stdin, folder, open)
          : open(turn.command.stdin ?? '/dev/null', 'r'),
        open(join(folder, 'stdout'), 'a'),
        open(join(folder, 'stderr'), 'a'),
        ...(confined ? new Array(FIRST_FD - 3).fill('ignore') : []),
        ...(confined?.files.map(({ path, flags, isWithoutLinks }) =>
          isWithoutLinks ? keep(openWithoutLinks(path)) : open(path, flags),
        ) ?? []),
      ],
    });
    child.unref();
    if (child.pid === undefined) await once(child, 'spawn');
    return child as ChildProcess & { pid: number };
  } catch (error) {
    throw spawnFailed(turn, error as NodeJS.ErrnoException);
  } finally {
    for (const fd of files) closeSync(fd);
  }
}

/**
 * Opens a copy of the file and deletes the copy's name. With the original, a sandboxed agent could open
 * `/proc/self/fd/0` for writing and change the file outside the sandbox.
 */
function openCopy(path: string, folder: string, open: (path: string, flags: string) => number): number {
  const copy = join(folder, 'stdin');
  copyFileSync(path, copy);
  const fd = open(copy, 'r');
  rmSync(copy);
  return fd;
}

/** Returns a path with a slash, so that the shell neither searches PATH nor runs a builtin. */
function programPath(program: string, { command, cwd }: TurnStart): string {
  if (program.includes('/')) return program;
  const found = findExecutable(program, { path: command.env.PATH ?? '', cwd });
  if (found.status === 'found') return found.path;
  const why = found.status === 'not_found' ? 'is not on the PATH' : `is not executable: ${found.path}`;
  throw new Error(`${program} ${why}`);
}

function spawnFailed(turn: TurnStart, cause: NodeJS.ErrnoException): Error {
  return Object.assign(new Error(reason(turn, cause), { cause }), { code: 'SPAWN_FAILED' });
}

function reason({ command, cwd }: TurnStart, cause: NodeJS.ErrnoException): string {
  const program = command.argv[0];
  if (cause.code === 'E2BIG')
    return `${program} could not be started: its arguments and environment are too long for this system`;
  // The system reports a missing working folder as if the program were missing.
  if (cause.syscall?.startsWith('spawn') && !isFolder(cwd))
    return `${program} could not be started in ${cwd}: no such folder, or no way into it`;
  return `${program} could not be started: ${cause.message}`;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
