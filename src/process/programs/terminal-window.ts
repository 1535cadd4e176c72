import { spawn } from 'node:child_process';
import { basename } from 'node:path';
import { RUN_VARIABLE, SERVICE_VARIABLE, TURN_VARIABLE } from '../table/process-info.ts';
import { findExecutable } from './find-executable.ts';
import type { ProgramStart } from './run-program.ts';

interface Window extends ProgramStart {
  /** Time after which a window counts as open if it has not failed. */
  settleMs: number;
}

/**
 * Starts a program with a window, for a person. The window outlives this process. Rejects with the code SPAWN_FAILED
 * when the program could not be started or failed at once.
 */
export function openWindow({ argv, cwd, env, settleMs }: Window): Promise<void> {
  const [program, ...args] = argv;
  // With one of these marks Squad would end the window together with the run or service.
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
      // Some programs hand the window to a process that already runs, and exit with 0.
      if (code !== 0) return failed(`ended at once (${code === null ? signal : `exit ${code}`})`);
      clearTimeout(timer);
      resolve();
    });
    child.unref();
  });
}

type FoundTerminal = { program: string; why: null } | { program: null; why: string };

/** Arguments before the command (default: `-e`, which most terminal programs accept). */
const BEFORE_COMMAND: Readonly<Record<string, readonly string[]>> = {
  'gnome-terminal': ['--'],
  ptyxis: ['--'],
  kitty: [],
  foot: [],
  wezterm: ['start', '--'],
  'xfce4-terminal': ['-x'],
  'mate-terminal': ['-x'],
  terminator: ['-x'],
};

/** Order: the terminal that the user chose, the system's default, then common programs. */
const USUAL = [
  ...['x-terminal-emulator', 'gnome-terminal', 'konsole', 'kitty', 'wezterm', 'alacritty', 'foot', 'xterm'],
];

/** Finds a terminal program that can open a window on the display of this environment. */
export function findTerminal(
  env: Readonly<Record<string, string>>,
  platform: NodeJS.Platform = process.platform,
): FoundTerminal {
  // The terminal of macOS cannot be given a command to run, and no variable says which screen the user has.
  if (platform === 'darwin') return none('Squad opens no windows on macOS');
  if (!env.DISPLAY && !env.WAYLAND_DISPLAY)
    return none(
      'the terminal that opened the web UI has no screen (neither DISPLAY nor WAYLAND_DISPLAY is set)',
    );
  const { TERMINAL: chosen, PATH = '' } = env;
  for (const name of chosen ? [chosen] : USUAL) {
    const found = findExecutable(name, { path: PATH, cwd: '/' });
    if (found.status === 'found') return { program: found.path, why: null };
  }
  return none(
    chosen
      ? `TERMINAL is ${chosen}, which is not an executable program`
      : `no terminal program was found (${USUAL.join(', ')}); set TERMINAL to use another`,
  );
}

/** Arguments with which a terminal program runs a command. No shell is used, so each argument arrives unchanged. */
export const terminalArguments = (program: string, command: readonly string[]): string[] => [
  ...(BEFORE_COMMAND[basename(program)] ?? ['-e']),
  ...command,
];

const none = (why: string): FoundTerminal => ({ program: null, why });
