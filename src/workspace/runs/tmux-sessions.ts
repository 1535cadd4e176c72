import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { oneLine } from '../../base/text.ts';
import type { Sessions, WindowedRun } from '../../core/ports/sessions.ts';
import { findExecutable } from '../../process/programs/find-executable.ts';
import { type ProgramEnd, runProgram } from '../../process/programs/run-program.ts';
import type { HubSettings } from '../../schema/config.ts';
import { RunId } from '../../schema/ids.ts';
import { runSummary } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';

/**
 * Ends a tmux session. Clients that came from another session return to it, because tmux would detach them or switch
 * them to the session that was used last. Other clients are detached.
 */
async function endSession(tmux: ReturnType<typeof createTmux>, name: string): Promise<void> {
  const { stdout } = await tmux.run([
    ...['list-clients', '-t', `=${name}`],
    ...['-F', '#{client_name} #{client_last_session}'],
  ]);
  const clients = stdout
    .toString('utf8')
    .split('\n')
    .map(line => /^(\S+) (.+)$/.exec(line))
    .filter(found => found !== null);
  // One tmux call per client: tmux skips the remaining commands after a failure, and a client may leave at any time.
  await Promise.all(
    clients.map(([, client, last]) => tmux.run(['switch-client', '-c', client!, '-t', `=${last}:`])),
  );
  await tmux.run(['kill-session', '-t', `=${name}`]);
}

type Environment = Readonly<Record<string, string | undefined>>;

const TMUX_TIMEOUT_MS = 2_000;
const MAX_BYTES = 1024 ** 2;
/**
 * Time after which the search for tmux is repeated. Many runs at once then search only once, and a new installation is
 * found soon.
 */
const LOOK_AGAIN_MS = 5_000;

/**
 * A tmux server keeps the environment that it was started with and passes it to every window, so it gets only these
 * variables.
 */
const PASSED_ON = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'TMUX_TMPDIR', 'XDG_CONFIG_HOME'],
  ...['LANG', 'LC_ALL', 'LC_CTYPE', 'TZ'],
];

/** The user's own tmux, on the default server of this environment. */
function createTmux(env: Environment) {
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
    /** Runs several commands in one call, separated by `;`. Never rejects. */
    run: (...commands: readonly (readonly string[])[]): Promise<ProgramEnd> =>
      runProgram({
        argv: [
          find() ?? 'tmux',
          ...commands.flatMap((words, i) => [...(i > 0 ? [';'] : []), ...words.map(asOneWord)]),
        ],
        // Sessions start in this folder too. In a work tree their shells would prevent its removal.
        cwd: '/',
        env: Object.fromEntries(
          PASSED_ON.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]]])),
        ),
        limitMs: TMUX_TIMEOUT_MS,
        maxBytes: MAX_BYTES,
      }),
  };
}

/** tmux treats a word that ends in a semicolon as the end of the command. */
const asOneWord = (word: string): string => word.replace(/;$/, '\\;');

export interface SessionsOptions {
  home: string;
  /** Environment of the hub, which determines the tmux server. */
  env: Readonly<Record<string, string | undefined>>;
  settings(): Pick<HubSettings, 'tmux.sessions'>;
  /**
   * Command that shows the live log of a run and survives Ctrl-C. It ends some time after the run if nobody ends the
   * session.
   */
  command(runId: RunId): readonly string[];
  warn(message: string, cause: unknown): void;
}

/** Delay before the window of an ended run closes, so that a person can read the last lines. */
const LAST_LINES_MS = 1_500;
const HISTORY_LINES = '20000';
const MAX_TITLE_LENGTH = 60;
/** tmux option with the home of a session, because several homes may share one tmux server. */
const MARK = '@squad_home';

export function createSessions({ home, env, settings, command, warn }: SessionsOptions): Sessions {
  const tmux = createTmux(env);
  const mark = createHash('sha256').update(home).digest('hex').slice(0, 16);
  /** Runs that may have a session now. */
  const opened = new Map<RunId, Promise<string | null>>();

  async function make(run: WindowedRun): Promise<string | null> {
    const name = sessionName(run.id);
    const log = ['/usr/bin/env', ...OUTSIDE_ANY_RUN, `SQUAD_HOME=${home}`, ...command(run.id)];
    const { code, stderr, cut } = await tmux.run(...newSession(name, { title: titleOf(run), mark, log }));
    if (code === 0 || stderr.startsWith('duplicate session')) return name;
    warn(
      `There is no tmux session for ${run.id}: ${cut === 'time' ? 'tmux did not answer in time' : oneLine(stderr, 200)}`,
      null,
    );
    return null;
  }

  const has = (run: WindowedRun, isAskedFor: boolean) =>
    isWanted(run, settings()['tmux.sessions'], isAskedFor) && tmux.isThere();

  return {
    nameOf: run => (has(run, false) ? sessionName(run.id) : null),

    async open(run, isAskedFor = false) {
      if (!has(run, isAskedFor)) return null;
      const making = make(run);
      opened.set(run.id, making);
      return making;
    },

    async close(runId) {
      const name = await opened.get(runId);
      opened.delete(runId);
      if (!name) return;
      await wait(LAST_LINES_MS, undefined, { ref: false });
      await endSession(tmux, name);
    },

    async sweep(isLive) {
      if (!tmux.isThere()) return;
      const { stdout } = await tmux.run(['list-sessions', '-F', `#{session_name} #{${MARK}}`]);
      const ours = stdout
        .toString('utf8')
        .split('\n')
        .flatMap(line => runOfLine(line, mark) ?? []);
      const over = ours.filter(id => !isLive(id));
      for (const id of ours) if (isLive(id)) opened.set(id, Promise.resolve(sessionName(id)));
      await Promise.all(over.map(id => endSession(tmux, sessionName(id))));
    },
  };
}

const sessionName = (id: RunId): string => `squad-${id}`;

/**
 * Options of `env` that remove an agent's marks, which a tmux server passes on if an agent started it. The log view
 * belongs to no run.
 */
const OUTSIDE_ANY_RUN = ['-u', 'SQUAD_RUN_ID', '-u', 'SQUAD_TURN'];

function isWanted(run: WindowedRun, setting: HubSettings['tmux.sessions'], isAskedFor: boolean): boolean {
  if (setting === 'off') return false;
  return setting === 'all' || run.worktree !== null || isAskedFor;
}

/**
 * Creates a session in one call, so that there is never a session without its mark. `history-limit` applies only to
 * windows that are created later, so the first window is a placeholder. Only options of this session are set, because
 * all others belong to the user.
 */
function newSession(
  name: string,
  { title, mark, log }: { title: string; mark: string; log: readonly string[] },
): string[][] {
  const at = ['-t', `=${name}:`];
  const set = (option: string, value: string) => ['set-option', ...at, option, value];
  const setWindow = (option: string, value: string) => ['set-option', '-w', ...at, option, value];
  return [
    // The command is passed as several words, so that tmux does not use a shell.
    ['new-session', '-d', '-s', name, 'tail', '-f', '/dev/null'],
    set(MARK, mark),
    set('history-limit', HISTORY_LINES),
    set('destroy-unattached', 'off'),
    set('status', 'on'),
    set('status-left-length', '200'),
    set('status-left', ' #{session_name}  #{window_name}  #{prefix} d leaves '),
    set('status-right', ''),
    ['new-window', '-k', '-t', `=${name}:^`, '-n', title, ...log],
    setWindow('remain-on-exit', 'off'),
    setWindow('window-status-format', ''),
    setWindow('window-status-current-format', ''),
  ];
}

/**
 * tmux runs commands that it finds in a name (`#(…)`), and a user's status line may pass the name to a shell.
 * Therefore the title contains only letters, digits and characters without a special meaning.
 */
function titleOf(run: WindowedRun): string {
  const words = `${runName(run)}: ${runSummary(run)}`.replace(/[^\p{L}\p{N} .,:/_-]+/gu, ' ');
  return oneLine(words, MAX_TITLE_LENGTH);
}

function runOfLine(line: string, mark: string): RunId | null {
  const [, id, whose] = /^squad-(run_\w+) (\w+)$/.exec(line) ?? [];
  const run = RunId.safeParse(id);
  return run.success && whose === mark ? run.data : null;
}
