import { type PipedChild, startPiped } from '../process/programs/piped-child.ts';
import type { ProgramStart } from '../process/programs/run-program.ts';
import { memoryOfTree } from '../process/table/descendants.ts';
import type { CodeModeLimits } from '../schema/model-spec.ts';
import {
  createFrameReader,
  type GuestMessage,
  type HostMessage,
  readGuestMessage,
  toFrame,
} from './messages.ts';
import type { AnswerPipe } from './tool-calls.ts';

/** The host's handle of the process that one program runs in. */
export interface Guest {
  /** Null if the process could not be started. */
  readonly pid: number | null;
  readonly pipe: AnswerPipe;
  send(message: HostMessage): void;
  /** Sets the listener, which replaces the previous one. */
  listen(listener: GuestListener): void;
  /** Kills the process. Resolves when none of its processes is left. */
  end(): Promise<void>;
}

export interface GuestListener {
  message(message: GuestMessage, bytes: number): void;
  /** Called when the guest sent something that an unmodified guest never sends. */
  invalid(): void;
  exited(how: Awaited<PipedChild['ended']>, stderr: string): void;
}

/** Limit for stderr. A crash of Node writes only a few kilobytes. */
const MAX_STDERR = 1024 * 1024;

export function startGuest(argv: ProgramStart['argv']): Guest {
  const child = startPiped({ argv, cwd: '/', env: {} });
  let listener: GuestListener | null = null;
  let stderr = '';

  const readFrames = createFrameReader(body => {
    const message = readGuestMessage(body);
    if (message === null) listener?.invalid();
    else listener?.message(message, body.length);
  });
  child.stdout.on('data', (chunk: Buffer) => {
    try {
      readFrames(chunk);
    } catch {
      listener?.invalid();
    }
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8');
    if (stderr.length > MAX_STDERR) listener?.invalid();
  });
  // The guest counts as gone only after all of its output has been read.
  const gone = new Promise<Awaited<PipedChild['ended']>>(resolve => {
    child.stdout.once('close', () => void child.ended.then(resolve));
  });

  return {
    pid: child.pid,
    pipe: child.stdin,
    send: message => void child.stdin.write(toFrame(message)),
    listen(next) {
      listener = next;
      void gone.then(how => listener === next && next.exited(how, stderr));
    },
    async end() {
      listener = null;
      child.kill();
      child.stdout.destroy();
      child.stderr.destroy();
      child.stdin.destroy();
      await child.ended;
    },
  };
}

/**
 * Interval between memory checks. It is short, so that a program can allocate only little memory between two checks.
 */
const CHECK_INTERVAL_MS = 25;
const SPARE_CHECK_INTERVAL_MS = 500;
const MB = 1024 * 1024;

/**
 * Checks time and memory from outside, where a program cannot block the checks. Both count from now: memory that a
 * spare guest used before does not count for the program. Returns a function that stops the checks.
 */
export function watchTree(
  pid: number,
  { timeoutMs, memoryMb }: CodeModeLimits,
  onLimit: (limit: 'time' | 'memory') => void,
): () => void {
  const before = memoryOfTree(pid);
  const timer = setTimeout(() => onLimit('time'), timeoutMs);
  const memoryTimer = setInterval(() => {
    if (memoryOfTree(pid) - before > memoryMb * MB) onLimit('memory');
  }, CHECK_INTERVAL_MS);
  return () => {
    clearTimeout(timer);
    clearInterval(memoryTimer);
  };
}

/**
 * Like `watchTree`, for a guest without a program. The guest may wait as long as a model takes, so it is checked less
 * often.
 */
export function watchSpare(pid: number, memoryMb: number, onLimit: () => void): () => void {
  const timer = setInterval(() => {
    if (memoryOfTree(pid) > memoryMb * MB) onLimit();
  }, SPARE_CHECK_INTERVAL_MS);
  return () => clearInterval(timer);
}
