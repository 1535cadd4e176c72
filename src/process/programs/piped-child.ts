import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { descendantsOf } from '../table/descendants.ts';

export interface PipedStart {
  argv: readonly [string, ...string[]];
  cwd: string;
  /** All of it: nothing is taken over from this process. */
  env: Record<string, string>;
}

export interface PipedChild {
  /** Null when it could not be started. */
  pid: number | null;
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
  /** When it has ended, or could not be started. Never rejects. */
  ended: Promise<{ code: number | null; signal: string | null; failure: Error | null }>;
  /** Ends it with everything below it, at once. */
  kill(): void;
}

/** What a program around another may need to see that the other is gone, and to go itself. */
const FOLLOW_MS = 500;

/** Starts a program that is talked to over its streams and owes nobody an orderly end. In a session of its own. */
export function startPiped({ argv, cwd, env }: PipedStart): PipedChild {
  const [program, ...args] = argv;
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(program, args, {
    cwd,
    env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A write to one that has just ended must not become an uncaught exception.
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
      // From below: whoever waits for them ends when they have ended, and so is the last to go.
      for (const pid of below.reverse()) end(pid);
      if (below.length === 0) end(child.pid);
      const follow = setTimeout(() => hasEnded || end(child.pid!), FOLLOW_MS);
      void ended.then(() => clearTimeout(follow));
    },
  };
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has just ended by itself.
  }
}
