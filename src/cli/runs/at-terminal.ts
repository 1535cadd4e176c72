import { spawn } from 'node:child_process';

export interface TerminalProgram {
  argv: readonly [string, ...string[]];
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** It neither reads nor shows anything: only how it ends counts. */
  silent?: boolean;
}

const SILENT_TIMEOUT_MS = 10_000;

/** Gives the terminal to a program until it ends; its exit code, or null when it could not be started or was killed. */
export function atTerminal({ argv, cwd, env, silent = false }: TerminalProgram): Promise<number | null> {
  const [program, ...args] = argv;
  // Ctrl-C is the program's to hear, and reaches both.
  const onInterrupt = () => {};
  process.on('SIGINT', onInterrupt);
  return new Promise<number | null>(resolve => {
    const bounds = silent ? { timeout: SILENT_TIMEOUT_MS, killSignal: 'SIGKILL' as const } : {};
    const child = spawn(program, args, { cwd, env, stdio: silent ? 'ignore' : 'inherit', ...bounds });
    child.on('error', () => resolve(null));
    child.on('close', resolve);
  }).finally(() => process.off('SIGINT', onInterrupt));
}
