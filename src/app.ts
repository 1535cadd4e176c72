/** Puts the hub together: the one file that knows every adapter. */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { serveControl } from './control/serve-control.ts';
import type { Caller } from './core/ports.ts';
import { recover } from './core/recovery.ts';
import { Runner } from './core/runner.ts';
import { createEngines } from './engines/create-engines.ts';
import type { HttpServer } from './http/serve.ts';
import { Lifetime } from './hub/lifetime.ts';
import { Log } from './hub/log.ts';
import { forgetHub, recordHub } from './hub/record-hub.ts';
import { type Connection, HubServer } from './hub/server.ts';
import { SettingsInForce } from './hub/settings.ts';
import { lockUnlessServed } from './hub/take-lock.ts';
import { ownToken } from './hub/token.ts';
import { environmentFilePath, parseEnvironmentFile } from './link/environment-file.ts';
import { ownFolder, socketPath } from './link/home.ts';
import { hubArguments } from './link/start-hub.ts';
import { mcpFace } from './mcp/face.ts';
import type { HubStatus, Services } from './operations/operation.ts';
import { childEnvironment } from './process/environment.ts';
import { createRunFiles } from './process/run-files.ts';
import { createSupervisor } from './process/supervisor.ts';
import { SquadError } from './schema/error.ts';
import type { EventBody } from './schema/event.ts';
import { RunId } from './schema/ids.ts';
import { openStore } from './store/open.ts';
import { takeLock } from './store/sqlite/lock.ts';
import { serveStream } from './wire/serve-stream.ts';
import { createWorkspaces } from './workspace/open-workspace.ts';

export interface HubOptions {
  home: string;
  env: Record<string, string | undefined>;
  version: string;
  /** The folder of the bundled programs. */
  programs: string;
}

const LINGER_MS = 60_000;
const STOP_MS = 10_000;
const DEFAULT_PORT = 3001;
/** The client that started this hub waits for an answer, and loading HTTP takes longer than giving it. */
const PORT_AFTER_MS = 60;

export interface RunningHub {
  stop(reason: string): Promise<void>;
}

/** Null when another hub already has this home. */
export async function startHub({ home, env, version, programs }: HubOptions): Promise<RunningHub | null> {
  ownFolder(home);
  const socket = socketPath(home);
  const lock = await lockUnlessServed(() => takeLock(join(home, 'hub.lock')), socket);
  if (!lock) return null;
  const log = new Log(join(home, 'hub.log'), env.MCP_LOG_LEVEL);
  const clock = { now: () => Date.now() };
  const startedAt = clock.now();
  recordHub(home, { pid: process.pid, version, startedAt });
  const database = env.MCP_DATABASE_PATH || join(home, 'squad.db');
  const runsDir = join(home, 'runs');
  const warn = (message: string, cause: unknown) => log.write('warning', message, cause);

  const store = await openStore({ file: database, version });
  const settings = new SettingsInForce(store);
  await settings.load();
  const files = createRunFiles<RunId>({ runsDir, chatsDir: join(home, 'chats') });
  const executor = createSupervisor({ runsDir, onTrouble: message => log.write('warning', message) });
  const engines = createEngines({ node: process.execPath, programs, home });
  const runner = new Runner({
    clock,
    store,
    files,
    executor,
    engines,
    settings: () => settings.all(),
    endpoint: async () => null,
    warn,
  });
  const workspaces = createWorkspaces({
    home,
    shippedRoles: join(programs, '..', 'roles'),
    engines,
    environment: async (caller, keep) =>
      childEnvironment({ client: caller.env, saved: await savedEnvironment(home), home: homedir(), keep }),
    onFault: (file, fault) => log.write('warning', `Role ${file} cannot be run: ${fault}`),
  });

  let calls = 0;
  let httpOpen = 0;
  let successor: string | null = null;
  let url: string | null = null;
  let opening: Promise<HttpServer | null> | null = null;
  const tokenFile = join(home, 'token');

  const services: Services = {
    clock,
    store,
    files,
    engines,
    workspaces,
    runner,
    settings,
    hub: {
      status: (): HubStatus => ({
        version,
        pid: process.pid,
        home,
        socket,
        database,
        startedAt,
        clients: server.clients + httpOpen,
        callsInFlight: calls,
        memoryBytes: process.memoryUsage.rss(),
        url,
        tokenFile,
        successor,
      }),
      stop: reason => void setImmediate(() => stop(reason)),
      reportBug: (operation, thrown) => log.write('error', `A bug in ${operation}`, thrown),
    },
  };

  const server = new HubServer({
    socketPath: socket,
    version,
    views: { mcp: serveMcp, control: serveTerminal },
    ready: () => recovered,
    onClients: reviewClients,
    onNewer: hello => {
      if (successor !== null) return;
      successor = hello.version;
      log.write('info', `Version ${hello.version} is here; making way when no call is in flight`);
      onEnd.push(() =>
        spawn(hello.hub.node, hubArguments(hello.hub.script), {
          detached: true,
          stdio: 'ignore',
          cwd: '/',
        }).unref(),
      );
      lifetime.makeWay();
    },
    warn,
  });
  const lifetime = new Lifetime({
    lingerMs: Number(env.SQUAD_HUB_LINGER_MS) || LINGER_MS,
    isBusy: () => runner.busy,
    callsInFlight: () => calls,
    end: reason => void stop(reason),
  });
  const onEnd: (() => void)[] = [];
  const stopped = new AbortController();
  store.onEvents(events => {
    // The runner lets go of a run only after its end was written down.
    for (const { body, runId } of events)
      if (body.type === 'run.ended' && runId !== null)
        void runner.untilEnded(runId, stopped.signal).then(() => lifetime.review());
  });

  const stop = once(async (reason: string) => {
    log.write('info', `Hub ${process.pid} stops: ${reason}`);
    // A hub that does not end would keep the next one out.
    setTimeout(() => process.exit(1), STOP_MS).unref();
    await Promise.all([server.close(successor === null ? 'stop' : 'handover'), closePort()]);
    runner.close();
    stopped.abort();
    await record({ type: 'hub.stopped', reason }).catch(thrown => warn('The stop was not recorded', thrown));
    await store.close();
    forgetHub(home);
    lock.release();
    for (const act of onEnd) act();
    process.exit(0);
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
  process.on('SIGHUP', () => {}); // the terminal that happened to start the hub may close
  process.on('uncaughtException', error => log.write('error', 'A bug', error));
  process.on('unhandledRejection', error => log.write('error', 'A bug', error));

  // Clients may knock while old runs are being accounted for; what they ask waits until that is done.
  const recovered = recover(runner, { store, files, executor, engines });
  recovered.catch(() => {}); // told below, once the door is open
  await server.listen();
  log.write('info', `Hub ${version} started, pid ${process.pid}`);
  const counts = await recovered.catch(async thrown => {
    // Whoever knocked meanwhile is told first.
    await new Promise(settle => setImmediate(settle));
    await server.close('stop');
    throw thrown;
  });
  await record({ type: 'hub.started', version, pid: process.pid });
  if (Object.values(counts).some(count => count > 0)) {
    await record({ type: 'hub.recovered', ...counts });
    log.write('info', `Recovered: ${JSON.stringify(counts)}`);
  }
  runner.pump();
  setTimeout(openPort, PORT_AFTER_MS);
  return { stop };

  function record(body: EventBody): Promise<void> {
    return store.commit({ events: [{ at: clock.now(), runId: null, squadId: null, body }] });
  }

  function countCalls(change: number): void {
    calls += change;
    lifetime.review();
  }

  /** Who holds an HTTP answer open is there just as who holds the socket open. */
  function reviewClients(): void {
    lifetime.onClients(server.clients + httpOpen);
  }

  async function callerOf({ hello }: Connection): Promise<Caller> {
    const parentId = RunId.safeParse(hello.env.SQUAD_RUN_ID);
    const parent = parentId.success
      ? (runner.current(parentId.data) ?? (await store.run(parentId.data)))
      : null;
    return {
      client: hello.view === 'control' ? 'terminal' : null,
      cwd: hello.cwd,
      workspace: hello.workspace ?? null,
      env: hello.env,
      parent: parent && { id: parent.id, depth: parent.depth },
    };
  }

  async function serveMcp(connection: Connection): Promise<void> {
    const caller = await callerOf(connection);
    if (connection.isOver) return;
    const { socket } = connection;
    const onInFlight = (count: number) => {
      const change = count - connection.calls;
      connection.calls = count;
      countCalls(change);
    };
    const stream = serveStream({
      input: socket,
      output: socket,
      build: () => mcpFace({ services, version, transport: 'stream', caller }),
      onInFlight,
      onError: error => log.write('debug', 'MCP', error),
    });
    socket.resume();
    await stream.closed;
    onInFlight(0);
  }

  async function serveTerminal(connection: Connection): Promise<void> {
    await openPort(); // a terminal may ask for its address
    const caller = await callerOf(connection);
    if (connection.isOver) return;
    await serveControl(connection.socket, {
      services,
      caller,
      onInFlight: change => {
        connection.calls += change;
        countCalls(change);
      },
    });
  }

  async function openPort(): Promise<void> {
    opening ??= bindPort().catch(thrown => {
      warn('HTTP is off', thrown);
      return null;
    });
    await opening;
  }

  /** One that is not open yet stays closed. */
  async function closePort(): Promise<void> {
    opening ??= Promise.resolve(null);
    await (await opening)?.close();
  }

  async function bindPort(): Promise<HttpServer> {
    const [{ createHttpHandler }, { serveHttp }] = await Promise.all([
      import('./wire/serve-http.ts'),
      import('./http/serve.ts'),
    ]);
    const stored = Number((await store.settings())['http.port']);
    let mine = 0;
    const mcp = createHttpHandler({
      build: request =>
        mcpFace({
          services,
          version,
          transport: 'http',
          caller: httpCaller(request.headers['squad-workspace']),
        }),
      onInFlight: count => {
        countCalls(count - mine);
        mine = count;
      },
      onError: error => log.write('debug', 'MCP over HTTP', error),
    });
    const http = await serveHttp({
      port: Number(env.MCP_SERVER_PORT) || stored || DEFAULT_PORT,
      token: ownToken(tokenFile),
      mcp,
      onOpen: count => {
        httpOpen = count;
        reviewClients();
      },
      onError: thrown => log.write('error', 'A bug in HTTP', thrown),
    });
    url = `http://127.0.0.1:${http.port}/mcp`;
    // The next hub takes the same port, so that clients' configurations stay true.
    if (http.port !== stored) await store.setSetting('http.port', String(http.port));
    return http;
  }
}

/** A request has no folder and no environment of its own: it names the workspace, and agents get the saved environment. */
function httpCaller(workspace: string | string[] | undefined): Caller {
  if (Array.isArray(workspace)) throw new SquadError('INVALID_INPUT', 'More than one Squad-Workspace header');
  // Node gives each byte of a header as one letter.
  const named = workspace === undefined ? null : Buffer.from(workspace, 'latin1').toString('utf8');
  return { client: null, cwd: null, workspace: named, env: {}, parent: null };
}

/** What `squad install` kept for clients that hand down almost nothing. */
async function savedEnvironment(home: string): Promise<Record<string, string>> {
  const file = environmentFilePath(home);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return parseEnvironmentFile(text, file);
}

function once<T>(act: (argument: T) => Promise<void>): (argument: T) => Promise<void> {
  let done: Promise<void> | null = null;
  return argument => {
    done ??= act(argument);
    return done;
  };
}
