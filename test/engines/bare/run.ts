/** Runs an agent CLI once, by hand, and keeps what it said. */
import { spawn } from 'node:child_process';
import type { BareCommand } from './options.ts';

export interface BareRun {
  pid: number;
  /** Resolves when it ended and its output is complete. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }>;
}

export function startBare(
  { argv: [program, ...args], env }: BareCommand,
  cwd: string,
  prompt: string,
): BareRun {
  const child = spawn(program!, args, { cwd, env, detached: true, stdio: 'pipe' });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', text => {
      said[name] += text;
    });
  // A CLI may end before it has read its prompt.
  child.stdin.on('error', () => {});
  child.stdin.end(prompt);
  const ended = new Promise<Awaited<BareRun['ended']>>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, ...said }));
  });
  return { pid: child.pid ?? -1, ended };
}
