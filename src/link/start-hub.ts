import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { isOwnFolder, ownFolder, socketPath } from './home.ts';

/** Exit code of a hub that found another hub serving: connect to that one. */
export const LOCK_TAKEN_EXIT = 75;

const CONNECT_EVERY_MS = 2;
const MAX_LAUNCHES = 20;
/** The exit of a process is reported a moment after its connections end. */
const EXIT_TIMEOUT_MS = 500;

/**
 * Variables that the hub itself needs. All others are sent in each client's handshake, so that no client gets the
 * secrets of another.
 */
const HUB_ENVIRONMENT = [
  ...['HOME', 'PATH', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'],
  // Variables of the user's tmux server and its windows.
  ...['SHELL', 'TMUX_TMPDIR'],
  ...['XDG_STATE_HOME', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME'],
  ...['SQUAD_HOME', 'SQUAD_HUB_LINGER_MS', 'SQUAD_DATABASE_URL'],
  ...['MCP_DATABASE_PATH', 'MCP_SERVER_PORT', 'MCP_LOG_LEVEL', 'SQUAD_LOG_FORMAT'],
  // OpenTelemetry variables: where the hub sends spans and metrics.
  ...[
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
  ],
  ...['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_RESOURCE_ATTRIBUTES', 'OTEL_SDK_DISABLED'],
  ...['OTEL_TRACES_SAMPLER', 'OTEL_TRACES_SAMPLER_ARG'],
];

export interface HubProgram {
  node: string;
  script: string;
}

/**
 * Makes V8 use a small young generation. Otherwise V8 keeps much of the memory that a burst needed. With 200 agents at
 * once the hub uses a sixth less memory.
 */
export const hubArguments = (script: string): string[] => [
  '--max-semi-space-size=4',
  script,
  // Pid of this process. The hub compares it with its parent to see whether the process that started it still runs.
  String(process.pid),
];

export interface ConnectOptions {
  home: string;
  env: Record<string, string | undefined>;
  program: HubProgram;
  /** Maximum time to wait for a hub. */
  timeoutMs?: number;
  /** Called when a hub was started; the hub may still end before it answers. */
  onLaunch?(hub: LaunchedHub): void;
}

export interface LaunchedHub {
  /** Why the hub ended, if it printed an error. Null while it runs or when it printed nothing. */
  exitError(): Promise<Error | null>;
}

/** Connects to the hub of this home and starts it if necessary. */
export async function connectOrStart(options: ConnectOptions): Promise<Socket> {
  const path = socketPath(options.home);
  return (await connect(path)) ?? startAndConnect(path, options);
}

/** Connects to a running hub, or null. */
export async function connect(path: string): Promise<Socket | null> {
  // A failed connection costs far more than this check, and a client that waits for its hub retries often.
  if (!existsSync(path)) return null;
  // The handshake contains the client's whole environment, so it is sent only where nobody else can listen.
  if (!isOwnFolder(dirname(path))) return null;
  return new Promise(settle => {
    const socket = createConnection(path);
    socket.once('connect', () => settle(socket));
    // A refused connection means a socket file whose hub has died; the next hub replaces it.
    socket.once('error', () => settle(null));
  });
}

/** Waits for a hub that is starting. Null when none comes. Does not start one. */
export async function knock(home: string, timeoutMs: number): Promise<Socket | null> {
  for (const until = performance.now() + timeoutMs; performance.now() < until; await pause()) {
    const socket = await connect(socketPath(home));
    if (socket) return socket;
  }
  return null;
}

async function startAndConnect(
  path: string,
  { home, env, program, timeoutMs = 15_000, onLaunch }: ConnectOptions,
): Promise<Socket> {
  if (env.SQUAD_SANDBOX && !env.SQUAD_HOME) throw outOfReach();
  ownFolder(home);
  // The hub is launched before anything else is loaded, so that it starts in parallel.
  let hub = launch(home, env, program);
  const until = performance.now() + timeoutMs;
  let launches = 1;
  for (;;) {
    await pause();
    const socket = await connect(path);
    if (socket) {
      hub.release();
      onLaunch?.(hub);
      return socket;
    }
    // Tries once more: after a killed hub the next one may work, and another hub that was found may have ended since.
    const another = hub.isKilled || hub.exit === LOCK_TAKEN_EXIT || (launches === 1 && foundDamage(hub));
    if (another && launches++ < MAX_LAUNCHES) hub = launch(home, env, program);
    else if (hub.exit !== null && hub.exit !== LOCK_TAKEN_EXIT) throw failure(hub.exit, hub.stderr());
    if (performance.now() > until) throw failure(null, hub.stderr());
  }
}

/**
 * Error for a sandboxed agent that does not see the user's hub. A new hub would know no runs and end with the agent.
 */
const outOfReach = () =>
  Object.assign(new Error('The `squad` command cannot reach the hub from inside the sandbox of an agent'), {
    code: 'HUB_UNREACHABLE',
    suggestions: [
      "Use Squad's MCP tools, which reach the hub.",
      'For an agent that needs the command, ask for `sandbox: off`.',
    ],
  });

/** A hub that finds its database damaged records that and ends; the next hub rebuilds the database. */
const foundDamage = ({ exit, stderr }: Launch): boolean =>
  exit !== null && stderr().includes('"code":"DATABASE_CORRUPT"');

interface Launch extends LaunchedHub {
  exit: number | null;
  /** True if a signal ended the process. */
  isKilled: boolean;
  stderr(): string;
  release(): void;
}

function launch(home: string, env: ConnectOptions['env'], { node, script }: HubProgram): Launch {
  // The module is loaded only here, because most clients find a running hub.
  const { spawn } = process.getBuiltinModule('node:child_process');
  const child: ChildProcess = spawn(node, hubArguments(script), {
    detached: true,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...hubEnvironment(env), SQUAD_HOME: home },
  });
  let stderr = '';
  const closed = Promise.withResolvers<void>();
  const launched: Launch = {
    exit: null,
    isKilled: false,
    stderr: () => stderr.trim(),
    /** The hub's stderr is still read, but no longer keeps this process alive. */
    release() {
      (child.stderr as Socket | null)?.unref();
      child.unref();
    },
    async exitError() {
      // This timer keeps the process alive until the error was read.
      const tooLate = setTimeout(closed.resolve, EXIT_TIMEOUT_MS);
      await closed.promise;
      clearTimeout(tooLate);
      return launched.exit && launched.exit !== LOCK_TAKEN_EXIT && stderr
        ? failure(launched.exit, launched.stderr())
        : null;
    },
  };
  child.stderr?.on('data', chunk => {
    if (stderr.length < 20_000) stderr += chunk;
  });
  child.on('error', error => {
    stderr += error.message;
    launched.exit = -1;
    closed.resolve();
  });
  // Uses 'close' instead of 'exit', which may come before stderr was read completely.
  child.on('close', (code, signal) => {
    launched.exit = code ?? -1;
    launched.isKilled = signal !== null;
    closed.resolve();
  });
  return launched;
}

const pause = () => new Promise(wake => setTimeout(wake, CONNECT_EVERY_MS));

/** The variables of this environment that a new hub gets. */
export const hubEnvironment = (env: ConnectOptions['env']): Record<string, string> => ({
  ...Object.fromEntries(
    HUB_ENVIRONMENT.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]]])),
  ),
  // Limits glibc to two pools of freed memory. By default each thread keeps its own pool, and a process with few
  // threads needs at most two.
  MALLOC_ARENA_MAX: '2',
  // Sets fixed thresholds for glibc's malloc. By default glibc raises them with the largest freed block, and keeps the
  // memory that the start needed. V8's compiler works in blocks of 32 KiB: a hub that had to compile its program kept
  // 14 MB of them.
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_TRIM_THRESHOLD_: '131072',
});

/** The hub prints the reason why it could not start as one line of JSON; other output is passed on unchanged. */
function failure(exit: number | null, stderr: string): Error & { code: string; suggestions?: string[] } {
  const last = stderr.split('\n').at(-1) ?? '';
  try {
    const { code, message, suggestions } = JSON.parse(last);
    if (typeof code === 'string') return Object.assign(new Error(message), { code, suggestions });
  } catch {} // the output is not Squad's JSON and is shown unchanged
  const what = exit === null ? 'did not answer in time' : `ended with code ${exit}`;
  return Object.assign(new Error(`The hub ${what}${stderr ? `: ${stderr}` : ''}`), {
    code: 'HUB_UNREACHABLE',
    suggestions: ['See `squad hub log`, then try `squad hub start`.'],
  });
}
