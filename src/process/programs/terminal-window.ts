import { spawn } from 'node:child_process';
import { basename } from 'node:path';
import { RUN_VARIABLE, SERVICE_VARIABLE, TURN_VARIABLE } from '../table/process-info.ts';
import { findExecutable } from './find-executable.ts';

interface Window {
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

type FoundTerminal = { program: string; why: null } | { program: null; why: string };

/** What stands before the command. `-e` unless it is named here: that is what most of them take. */
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

/** The user's choice first, then the system's, then what is usually there. */
const USUAL = [
  ...['x-terminal-emulator', 'gnome-terminal', 'konsole', 'kitty', 'wezterm', 'alacritty', 'foot', 'xterm'],
];

/** The program that opens a window on the screen this environment has. */
export function findTerminal(
  env: Readonly<Record<string, string>>,
  platform: NodeJS.Platform = process.platform,
): FoundTerminal {
  // Its terminal takes no command, and a screen there has no name in the environment.
  if (platform === 'darwin') return none('on macOS Squad opens no windows');
  if (!env.DISPLAY && !env.WAYLAND_DISPLAY)
    return none('the terminal that opened this page has no screen (neither DISPLAY nor WAYLAND_DISPLAY)');
  const { TERMINAL: chosen, PATH = '' } = env;
  for (const name of chosen ? [chosen] : USUAL) {
    const found = findExecutable(name, { path: PATH, cwd: '/' });
    if (found.status === 'found') return { program: found.path, why: null };
  }
  return none(
    chosen
      ? `TERMINAL is ${chosen}, which is no program that can be run`
      : `no terminal program was found (${USUAL.join(', ')}); TERMINAL may name another`,
  );
}

/** Without a shell in between: each word of the command arrives as it is. */
export const terminalArguments = (program: string, command: readonly string[]): string[] => [
  ...(BEFORE_COMMAND[basename(program)] ?? ['-e']),
  ...command,
];

const none = (why: string): FoundTerminal => ({ program: null, why });
