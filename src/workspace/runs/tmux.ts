import { findExecutable } from '../../process/programs/find-executable.ts';
import { type ProgramEnd, runProgram } from '../../process/programs/run-program.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const LIMIT_MS = 2_000;
const MAX_BYTES = 1024 ** 2;
/** So that many runs at once look for it once, and one who has just installed it need not wait. */
const LOOK_AGAIN_MS = 5_000;

/** A server that is not running yet keeps what it is started with, and hands it to every window: nothing of ours but this. */
const PASSED_ON = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'TMUX_TMPDIR', 'XDG_CONFIG_HOME'],
  ...['LANG', 'LC_ALL', 'LC_CTYPE', 'TZ'],
];

/** The user's own tmux, on the server that is the default one for this environment. */
export interface Tmux {
  isThere(): boolean;
  /** Several commands go into one call with `;` between them. Never rejects. */
  run(...commands: readonly (readonly string[])[]): Promise<ProgramEnd>;
}

export function createTmux(env: Environment): Tmux {
  let program: string | null = null;
  let lookedAt = Number.NEGATIVE_INFINITY;

  function find(): string | null {
    if (performance.now() - lookedAt > LOOK_AGAIN_MS) {
      lookedAt = performance.now();
      // An empty PATH would mean the current folder.
      const found = env.PATH ? findExecutable('tmux', { path: env.PATH, cwd: '/' }) : null;
      program = found?.status === 'found' ? found.path : null;
    }
    return program;
  }

  return {
    isThere: () => find() !== null,
    run: (...commands) =>
      runProgram({
        argv: [
          find() ?? 'tmux',
          ...commands.flatMap((words, i) => [...(i > 0 ? [';'] : []), ...words.map(asOneWord)]),
        ],
        // Also where its sessions begin: in a work tree their shells would keep it from being removed.
        cwd: '/',
        env: Object.fromEntries(
          PASSED_ON.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]]])),
        ),
        limitMs: LIMIT_MS,
        maxBytes: MAX_BYTES,
      }),
  };
}

/** tmux takes a word that ends in a semicolon for the end of a command. */
const asOneWord = (word: string): string => word.replace(/;$/, '\\;');
