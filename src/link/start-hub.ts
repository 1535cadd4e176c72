import { type ChildProcess, spawn } from 'node:child_process';
import { createConnection, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { isOwnFolder, ownFolder, socketPath } from './home.ts';

/** A hub that found another one serving ends with this: that one is to be asked. */
export const LOCK_TAKEN_EXIT = 75;

const KNOCK_EVERY_MS = 8;
const MAX_LAUNCHES = 20;
/** A process is seen to end a moment after its connections are. */
const LAST_WORDS_MS = 500;

/** What the hub itself needs. Everything else travels with each client's hello, so one client's secrets never become another's. */
const HUB_ENVIRONMENT = [
  'HOME',
  'PATH',
  'USER',
  'LOGNAME',
  'LANG',
  'LC_ALL',
  'TZ',
  'TMPDIR',
  // Which tmux server is the user's own, and what its windows are.
  'SHELL',
  'TMUX_TMPDIR',
  'XDG_STATE_HOME',
  'XDG_CONFIG_HOME',
  'XDG_CACHE_HOME',
  'SQUAD_HOME',
  'SQUAD_HUB_LINGER_MS',
  'SQUAD_DATABASE_URL',
  'MCP_DATABASE_PATH',
  'MCP_SERVER_PORT',
  'MCP_LOG_LEVEL',
]; // prettier-ignore

export interface HubProgram {
  node: string;
  script: string;
}

/**
 * Young objects get little room, because left to itself V8 keeps much of what a burst once needed: with 200 agents at
 * once the hub then holds a sixth less.
 */
export const hubArguments = (script: string): string[] => [
  '--max-semi-space-size=4',
  script,
  // The hub sees by this whether the process that started it is still its parent.
  String(process.pid),
];

export interface ConnectOptions {
  home: string;
  env: Record<string, string | undefined>;
  program: HubProgram;
  /** How long to knock before giving up. */
  patienceMs?: number;
  /** A hub was started on the way; it may yet end before it has answered anything. */
  onLaunch?(hub: LaunchedHub): void;
}

export interface LaunchedHub {
  /** Why it ended, if it said so; null while it runs and when it ended without a word. */
  lastWords(): Promise<Error | null>;
}

/** A connection to the hub of this home, which is started if it is not there. */
export async function connectOrStart(options: ConnectOptions): Promise<Socket> {
  const path = socketPath(options.home);
  const running = await connect(path);
  if (running) return running;
  return startAndConnect(path, options);
}

/** A connection to a hub that is already there, or null. */
export async function connect(path: string): Promise<Socket | null> {
  // The hello carries the client's whole environment: it is said only where nobody else can be listening.
  if (!isOwnFolder(dirname(path))) return null;
  return new Promise(settle => {
    const socket = createConnection(path);
    socket.once('connect', () => settle(socket));
    // A refused connection is a socket file whose hub died: the next hub replaces it.
    socket.once('error', () => settle(null));
  });
}

/** A connection to a hub that is on its way, or null when it does not come. Starts none. */
export async function knock(home: string, patienceMs: number): Promise<Socket | null> {
  for (const until = performance.now() + patienceMs; performance.now() < until; await pause()) {
    const socket = await connect(socketPath(home));
    if (socket) return socket;
  }
  return null;
}

async function startAndConnect(
  path: string,
  { home, env, program, patienceMs = 15_000, onLaunch }: ConnectOptions,
): Promise<Socket> {
  ownFolder(home);
  const until = performance.now() + patienceMs;
  let hub = launch(home, env, program);
  let launches = 1;
  for (;;) {
    await pause();
    const socket = await connect(path);
    if (socket) {
      hub.release();
      onLaunch?.(hub);
      return socket;
    }
    // One that was killed says nothing about the next; and the hub that ours made room for may itself have ended since.
    const another = hub.isKilled || hub.exit === LOCK_TAKEN_EXIT || (launches === 1 && foundDamage(hub));
    if (another && launches++ < MAX_LAUNCHES) hub = launch(home, env, program);
    else if (hub.exit !== null && hub.exit !== LOCK_TAKEN_EXIT) throw failure(hub.exit, hub.words());
    if (performance.now() > until) throw failure(null, hub.words());
  }
}

/** A hub that finds its database damaged after it has opened it leaves word of that, and the next hub rebuilds the database. */
const foundDamage = ({ exit, words }: Launch): boolean =>
  exit !== null && words().includes('"code":"DATABASE_CORRUPT"');

interface Launch extends LaunchedHub {
  exit: number | null;
  /** By somebody else, with a signal. */
  isKilled: boolean;
  words(): string;
  release(): void;
}

function launch(home: string, env: ConnectOptions['env'], { node, script }: HubProgram): Launch {
  const child: ChildProcess = spawn(node, hubArguments(script), {
    detached: true,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...hubEnvironment(env), SQUAD_HOME: home },
  });
  let words = '';
  const closed = Promise.withResolvers<void>();
  const launched: Launch = {
    exit: null,
    isKilled: false,
    words: () => words.trim(),
    /** Its last words are still listened to, but neither it nor they keep this program alive. */
    release() {
      (child.stderr as Socket | null)?.unref();
      child.unref();
    },
    async lastWords() {
      // Not unref'd: whoever waits for the words must be there to hear them.
      const tooLate = setTimeout(closed.resolve, LAST_WORDS_MS);
      await closed.promise;
      clearTimeout(tooLate);
      return launched.exit && launched.exit !== LOCK_TAKEN_EXIT && words
        ? failure(launched.exit, launched.words())
        : null;
    },
  };
  child.stderr?.on('data', chunk => {
    if (words.length < 20_000) words += chunk;
  });
  child.on('error', error => {
    words += error.message;
    launched.exit = -1;
    closed.resolve();
  });
  // Not 'exit': that one may come before the last words were read.
  child.on('close', (code, signal) => {
    launched.exit = code ?? -1;
    launched.isKilled = signal !== null;
    closed.resolve();
  });
  return launched;
}

const pause = () => new Promise(wake => setTimeout(wake, KNOCK_EVERY_MS));

/** The variables that a hub is started with, out of these. */
export const hubEnvironment = (env: ConnectOptions['env']): Record<string, string> => ({
  ...Object.fromEntries(
    HUB_ENVIRONMENT.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]]])),
  ),
  // Each thread would keep a pool of freed memory of its own; one process with a few threads needs no more than two.
  MALLOC_ARENA_MAX: '2',
});

/** The hub says why it could not start as one JSON line; anything else it printed is passed on as it is. */
function failure(exit: number | null, words: string): Error & { code: string; suggestions?: string[] } {
  const last = words.split('\n').at(-1) ?? '';
  try {
    const { code, message, suggestions } = JSON.parse(last);
    if (typeof code === 'string') return Object.assign(new Error(message), { code, suggestions });
  } catch {} // not our JSON: the raw words are shown below
  const what = exit === null ? 'did not answer in time' : `ended with code ${exit}`;
  return Object.assign(new Error(`The hub ${what}${words ? `: ${words}` : ''}`), {
    code: 'HUB_UNREACHABLE',
    suggestions: ['Look at `squad hub log`, then try `squad hub start`.'],
  });
}
