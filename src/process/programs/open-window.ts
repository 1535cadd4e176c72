import { spawn } from 'node:child_process';
import { RUN_VARIABLE, SERVICE_VARIABLE, TURN_VARIABLE } from '../table/process-info.ts';

export interface Window {
  argv: readonly [string, ...string[]];
  cwd: string;
  /** All of it: nothing is taken over from this process. */
  env: Record<string, string>;
  /** One that has not failed by then is taken to be on the screen. */
  settleMs: number;
}

/**
 * Starts a program with a window, for a person: nobody here waits for its end, and it outlives us. Rejects with the code
 * SPAWN_FAILED when it could not be started, or ended at once as one that failed.
 */
export function openWindow({ argv, cwd, env, settleMs }: Window): Promise<void> {
  const [program, ...args] = argv;
  // With such a mark it would be ended together with what it names.
  const { [RUN_VARIABLE]: _run, [TURN_VARIABLE]: _turn, [SERVICE_VARIABLE]: _service, ...rest } = env;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env: rest, detached: true, stdio: 'ignore' });
    const timer = setTimeout(resolve, settleMs);
    const failed = (how: string) => {
      clearTimeout(timer);
      reject(Object.assign(new Error(`${program} ${how}`), { code: 'SPAWN_FAILED' }));
    };
    child.once('error', error => failed(`could not be started: ${error.message}`));
    child.once('exit', (code, signal) => {
      // Some hand the window to a process that is there already, and end.
      if (code !== 0) return failed(`ended at once (${code === null ? signal : `exit ${code}`})`);
      clearTimeout(timer);
      resolve();
    });
    child.unref();
  });
}
