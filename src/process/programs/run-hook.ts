import { spawn } from 'node:child_process';
import { endGroup, endWithUs } from './group-reaper.ts';
import type { ProgramStart } from './run-program.ts';

export interface Hook extends ProgramStart {
  stdin: string;
  limitMs: number;
  /** Ends the hook at once. */
  signal: AbortSignal;
}

const MAX_TEXT_LENGTH = 2_000;

/**
 * Runs a hook command of the user until the hook ends or exceeds its time limit. Returns null on success, otherwise
 * an error message.
 */
export function runHook({ argv, cwd, env, stdin, limitMs, signal }: Hook): Promise<string | null> {
  return new Promise(settle => {
    const [program, ...args] = argv;
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ['pipe', 'ignore', 'pipe'] });
    const { pid } = child;
    const release = pid === undefined ? () => {} : endWithUs(pid);
    let stderr = '';
    let cutShort: string | null = null;
    const end = (why: string) => {
      cutShort = why;
      if (pid !== undefined) endGroup(pid);
    };
    const timer = setTimeout(() => end(`took longer than ${limitMs / 1000} s`), limitMs);
    const onAbort = () => end('was ended because the hub stops');
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-MAX_TEXT_LENGTH);
    });
    child.stdin.on('error', () => {}); // a hook may exit without reading its input
    child.stdin.end(stdin);
    child.once('error', error => done(error.message));
    child.once('exit', (code, killedBy) => {
      const how = cutShort ?? `exit ${code ?? killedBy}`;
      done(code === 0 && cutShort === null ? null : [how, stderr.trim()].filter(Boolean).join(': '));
    });

    function done(fault: string | null): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      release();
      child.stderr.destroy();
      settle(fault);
    }
  });
}
