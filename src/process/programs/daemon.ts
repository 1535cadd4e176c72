import { spawn } from 'node:child_process';

/** Starts a program of ours that outlives this process. */
export function startDaemon([program, ...args]: readonly [string, ...string[]], cwd: string): void {
  const child = spawn(program, args, { cwd, detached: true, stdio: 'ignore' });
  child.on('error', () => {}); // the caller notices that the daemon does not answer
  child.unref();
}
