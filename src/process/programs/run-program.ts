import { spawn } from 'node:child_process';
import { endGroup, endWithUs } from './group-reaper.ts';

export interface ProgramStart {
  argv: readonly [string, ...string[]];
  cwd: string;
  /** Complete environment. Nothing is inherited from this process. */
  env: Record<string, string>;
}

export interface ProgramRun extends ProgramStart {
  limitMs: number;
  /** Size limit of the program's standard output. */
  maxBytes: number;
  signal?: AbortSignal;
  /** Standard input (default: none). If a promised input is rejected, the program is ended. */
  input?: Buffer | Promise<Buffer>;
}

export interface ProgramEnd {
  /** Null when the program could not be started or was ended by a signal. */
  code: number | null;
  stdout: Buffer;
  stderr: string;
  /** Why the program was ended early, or could not be started. Null when it ended by itself. */
  cut: 'time' | 'size' | 'abort' | 'missing' | null;
}

const MAX_STDERR = 16 * 1024;

/** Running programs by session id. Each program has its own session. */
const running = new Map<number, { cwd: string; end: Promise<ProgramEnd> }>();

export const isOwnProgram = (session: number): boolean => running.has(session);

/** Settles when the programs that run in this folder or below it have ended. Each program has a time limit. */
export async function ownProgramsOver(folder: string): Promise<void> {
  const there = [...running.values()].filter(({ cwd }) => cwd === folder || cwd.startsWith(`${folder}/`));
  await Promise.all(there.map(({ end }) => end));
}

/** Runs a small program such as git, without a shell and with limits. Agents are started elsewhere. Never rejects. */
export function runProgram(run: ProgramRun): Promise<ProgramEnd> {
  const { promise, resolve } = Promise.withResolvers<ProgramEnd>();
  const [program, ...args] = run.argv;
  const stdout: Buffer[] = [];
  let bytes = 0;
  let stderr = '';
  let cut: ProgramEnd['cut'] = null;

  if (run.signal?.aborted)
    return Promise.resolve({ code: null, stdout: Buffer.alloc(0), stderr, cut: 'abort' });
  // The program gets its own session, so that it has no terminal to prompt on and everything that it starts ends with
  // it.
  const child = spawn(program, args, {
    cwd: run.cwd,
    env: run.env,
    detached: true,
    stdio: [run.input ? 'pipe' : 'ignore', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) running.set(child.pid, { cwd: run.cwd, end: promise });
  const release = child.pid === undefined ? () => {} : endWithUs(child.pid);
  child.stdin?.on('error', () => {}); // the program may exit without reading all of its input
  if (run.input instanceof Promise)
    run.input.then(
      bytes => child.stdin?.end(bytes),
      () => end('abort'),
    );
  else child.stdin?.end(run.input);

  function end(why: ProgramEnd['cut']): void {
    cut ??= why;
    if (child.pid !== undefined) endGroup(child.pid);
    // A process that left the group may hold the output open, and must not keep this function waiting.
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
  const onAbort = () => end('abort');
  const timer = setTimeout(() => end('time'), run.limitMs);
  run.signal?.addEventListener('abort', onAbort, { once: true });

  child.stdout?.on('data', (chunk: Buffer) => {
    const room = run.maxBytes - bytes;
    if (room > 0) stdout.push(chunk.subarray(0, room));
    bytes += chunk.length;
    if (bytes > run.maxBytes) end('size');
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    if (stderr.length < MAX_STDERR) stderr += chunk.toString('utf8').slice(0, MAX_STDERR);
  });
  child.on('error', error => {
    cut = 'missing';
    stderr = error.message;
    done(null);
  });
  child.on('close', done);

  function done(code: number | null): void {
    if (child.pid !== undefined) running.delete(child.pid);
    release();
    clearTimeout(timer);
    run.signal?.removeEventListener('abort', onAbort);
    resolve({ code, stdout: Buffer.concat(stdout), stderr, cut });
  }
  return promise;
}
