import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { endWithUs } from './group-reaper.ts';
import type { ProgramStart } from './run-program.ts';

export interface PipedProgram {
  stdin: Writable;
  stdout: Readable;
  /** Last part of the program's standard error. */
  said(): string;
  /** Exit code. Null if a signal ended the program, or if the program was not found. Never rejects. */
  ended: Promise<number | null>;
  /** Kills the program and everything it started. */
  kill(): void;
}

const MAX_STDERR = 8 * 1024;

/** Starts a program that communicates over pipes. The program ends with this process. */
export function startPiped({ argv: [program, ...args], cwd, env }: ProgramStart): PipedProgram {
  // The program gets its own session, so that it has no terminal to prompt on.
  const child = spawn(program, args, { cwd, env, detached: true, stdio: 'pipe' });
  const release = child.pid === undefined ? () => {} : endWithUs(child.pid);
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-MAX_STDERR);
  });
  // An error of a closed pipe is ignored, because `ended` reports that the program is gone.
  child.stdin.on('error', () => {});
  const ended = new Promise<number | null>(resolve => {
    child.once('error', error => {
      said ||= error.message;
      resolve(null);
    });
    child.once('close', code => resolve(code));
  });
  void ended.then(release);
  return { stdin: child.stdin, stdout: child.stdout, said: () => said, ended, kill: release };
}
