import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { descendantsOf } from '../table/descendants.ts';
import type { ProgramStart } from './run-program.ts';

export interface PipedChild {
  /** Null when the program could not be started. */
  pid: number | null;
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
  /** Settles when the program has ended or could not be started. Never rejects. */
  ended: Promise<{ code: number | null; signal: string | null; failure: Error | null }>;
  /** Kills the program with all its descendants. */
  kill(): void;
}

/** Time for a wrapping program to notice that its child has ended, and to exit. */
const WRAPPER_EXIT_TIMEOUT_MS = 500;

/** Starts a program in its own session and communicates with it over pipes. The program can be killed at any time. */
export function startPiped({ argv, cwd, env }: ProgramStart): PipedChild {
  const [program, ...args] = argv;
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(program, args, {
    cwd,
    env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A write to a process that has just ended must not become an uncaught exception.
  child.stdin.on('error', () => {});
  let hasEnded = false;
  const ended = new Promise<Awaited<PipedChild['ended']>>(resolve => {
    child.once('exit', (code, signal) => resolve({ code, signal, failure: null }));
    child.once('error', failure => resolve({ code: null, signal: null, failure }));
  });
  void ended.then(() => {
    hasEnded = true;
  });

  return {
    pid: child.pid ?? null,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    ended,
    kill() {
      if (child.pid === undefined || hasEnded) return;
      const below = descendantsOf(child.pid);
      // Deepest process first, because a parent that waits for its children ends after them.
      for (const pid of below.reverse()) end(pid);
      if (below.length === 0) end(child.pid);
      const follow = setTimeout(() => hasEnded || end(child.pid!), WRAPPER_EXIT_TIMEOUT_MS);
      void ended.then(() => clearTimeout(follow));
    },
  };
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}
