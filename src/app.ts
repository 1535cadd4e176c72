/** Puts the hub together: the one file that knows every adapter. */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { serveControl } from './control/serve-control.ts';
import type { Caller, RunEndpoint, TurnRef } from './core/ports.ts';
import { recover } from './core/recovery.ts';
import { Runner } from './core/runner.ts';
import { teamEntry, teamState } from './core/team-state.ts';
import { createEngines } from './engines/create-engines.ts';
import type { HttpServer } from './http/serve.ts';
import { callerOfHello, callerOfRun } from './hub/callers.ts';
import { Lifetime } from './hub/lifetime.ts';
import { Log } from './hub/log.ts';
import { forgetHub, recordHub } from './hub/record-hub.ts';
import { bearerOf, hashOf, mintToken } from './hub/run-tokens.ts';
import { type Connection, HubServer } from './hub/server.ts';
import { SettingsInForce } from './hub/settings.ts';
import { lockUnlessServed } from './hub/take-lock.ts';
import { ownToken } from './hub/token.ts';
import { environmentFilePath, parseEnvironmentFile } from './link/environment-file.ts';
import type { Hello } from './link/hello.ts';
import { ownFolder, socketPath } from './link/home.ts';
import { IDENTITY_FILE, parseIdentity } from './link/identity-file.ts';
import { hubArguments } from './link/start-hub.ts';
import { EndNotices } from './mcp/end-notices.ts';
import { type McpFaceOptions, mcpFace } from './mcp/face.ts';
import type { HubStatus, Services } from './operations/operation.ts';
import { OPERATIONS } from './operations/table.ts';
import { childEnvironment } from './process/environment.ts';
import { createRunFiles } from './process/run-files.ts';
import { runHook } from './process/run-hook.ts';
import { createRunOfProcess } from './process/run-of-process.ts';
import { createSupervisor } from './process/supervisor.ts';
import { SquadError } from './schema/error.ts';
import type { Event, EventBody } from './schema/event.ts';
import type { RunId } from './schema/ids.ts';
import type { Run } from './schema/run.ts';
import { type Toolset, toolsetsIn } from './schema/toolset.ts';
import { openStore } from './store/open.ts';
import { takeLock } from './store/sqlite/lock.ts';
import type { HttpHandler } from './wire/serve-http.ts';
import { serveStream } from './wire/serve-stream.ts';
import { createWorkspaces } from './workspace/open-workspace.ts';
import { createPrices } from './workspace/price-file.ts';
import { TeamLog } from './workspace/team-log.ts';
import { createWorkTree } from './workspace/work-tree.ts';

export interface HubOptions {
  home: string;
  env: Record<string, string | undefined>;
  version: string;
  /** The folder of the bundled programs. */
  programs: string;
}

const LINGER_MS = 60_000;
const STOP_MS = 10_000;
const HOOK_MS = 60_000;
const TEAM_EVENTS = new Set<EventBody['type']>(['run.started', 'run.ended']);
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
  const workTree = createWorkTree();
  const runner = new Runner({
    clock,
    store,
    files,
    executor,
    engines,
    settings: () => settings.all(),
    endpoint: endpointOf,
    prices: createPrices(join(home, 'prices.json'), warn),
    workTree,
    onEnd: run => void tellHook(run),
    warn,
  });
  const workspaces = createWorkspaces({
    home,
    shippedRoles: join(programs, '..', 'roles'),
    shippedTemplates: join(programs, '..', 'templates'),
    ownTools: new Set(OPERATIONS.flatMap(({ name, tool }) => (tool ? name : []))),
    engines,
    environment: async (caller, keep) =>
      childEnvironment({ client: caller.env, saved: await savedEnvironment(home), home: homedir(), keep }),
    onFault: (file, fault) => log.write('warning', `${file} cannot be used: ${fault}`),
  });

  const team = new TeamLog({
    stateOf: workspace => teamState(store, clock, workspace),
    onTrouble: (file, reason) => log.write('warning', `${file}: ${reason}`),
  });
  let teamWritten: Promise<unknown> = Promise.resolve();
  store.onEvents(events => {
    teamWritten = Promise.all(events.map(logForTeam)).then(() => team.flush());
  });

  let calls = 0;
  let httpOpen = 0;
  let successor: string | null = null;
  let url: string | null = null;
  let opening: Promise<HttpServer | null> | null = null;
  let overHttp: HttpHandler | null = null;
  const tokenFile = join(home, 'token');
  /** Who asks, found out once for each hello. */
  const callers = new WeakMap<Hello, Caller>();
  const identities = {
    liveRuns: () => runner.liveRuns(),
    run: async (id: RunId) => runner.current(id) ?? (await store.run(id)),
    environment: (id: RunId) => files.environment(id),
    runOfProcess: createRunOfProcess(runsDir),
  };

  const services: Services = {
    clock,
    store,
    files,
    engines,
    workspaces,
    workTree,
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
    ready: async hello => {
      toolsetsOf(hello);
      await recovered;
      callers.set(hello, await callerOfHello(hello, identities));
    },
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
  const notices = new EndNotices({
    ended: async id => {
      await runner.untilEnded(id, stopped.signal);
      return stopped.signal.aborted ? null : store.run(id);
    },
    teamFilesWritten: () => teamWritten,
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
    notices.take(events);
    // The runner lets go of a run only after its end was written down.
    for (const { body, runId } of events)
      if (body.type === 'run.ended' && runId !== null)
        void runner.untilEnded(runId, stopped.signal).then(() => {
          lifetime.review();
          void overHttp?.endSessions(runId);
        });
  });

  const stop = once(async (reason: string) => {
    log.write('info', `Hub ${process.pid} stops: ${reason}`);
    // A hub that does not end would keep the next one out.
    setTimeout(() => process.exit(1), STOP_MS).unref();
    await Promise.all([server.close(successor === null ? 'stop' : 'handover'), closePort()]);
    runner.close();
    stopped.abort();
    await team.flush();
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
  const recovered = recover(runner, { store, files, executor, engines }).then(async found => {
    await restoreTokens();
    return found;
  });
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

  /** A new identity for each turn. Its hash goes to disk with the start of the turn; until then the file is what a later hub knows it by. */
  async function endpointOf(run: Run, turn: TurnRef): Promise<RunEndpoint | null> {
    await openPort();
    if (url === null) return null;
    const { token, hash } = mintToken();
    const file = await files.write(turn, IDENTITY_FILE, JSON.stringify({ token, home }));
    run.tokenHash = hash;
    const args = [join(programs, '..', 'bin', 'squad.cjs'), 'mcp', '--identity', file];
    return { url, token, relay: { command: process.execPath, args } };
  }

  /** For runs whose start an earlier hub did not live to record. */
  async function restoreTokens(): Promise<void> {
    for (const run of runner.liveRuns()) {
      if (run.tokenHash !== null || run.status === 'queued') continue;
      const number = (await store.turns(run.id)).at(-1)?.number ?? 1;
      const identity = parseIdentity((await files.read({ runId: run.id, number }, IDENTITY_FILE)) ?? '');
      if (identity) run.tokenHash = hashOf(identity.token);
    }
  }

  /** Starts and ends, for the workspace they happened in. */
  async function logForTeam(event: Event): Promise<void> {
    if (event.runId === null || !TEAM_EVENTS.has(event.body.type)) return;
    const run = await store.run(event.runId).catch(() => null);
    const entry = run && teamEntry(event, run);
    if (entry) team.record(run.workspace, entry);
  }

  /** The user's own command for the end of a run, with the facts on its standard input. */
  async function tellHook({ id, squadId, status, options, directory, ...run }: Run): Promise<void> {
    if (options.onEnd === null) return;
    const facts = { spawn_id: id, squad_id: squadId, status, role_id: run.roleId, engine: run.engine };
    const fault = await runHook({
      argv: options.onEnd as [string, ...string[]],
      cwd: directory,
      env: {
        ...childEnvironment({
          client: { PATH: env.PATH ?? '' },
          saved: await savedEnvironment(home),
          home: homedir(),
        }),
        ...{ HOME: homedir(), SQUAD_HOOK_RUN: id, SQUAD_HOOK_SQUAD: squadId, SQUAD_HOOK_STATUS: status },
      },
      stdin: JSON.stringify({ ...facts, error: run.error, usage: run.usage, evidence: run.evidence }),
      limitMs: HOOK_MS,
    }).catch(String);
    if (fault !== null) log.write('warning', `onEnd for ${id}: ${fault}`);
  }

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

  async function serveMcp(connection: Connection): Promise<void> {
    const caller = callers.get(connection.hello)!;
    const toolsets = toolsetsOf(connection.hello);
    const { socket } = connection;
    const onInFlight = (count: number) => {
      const change = count - connection.calls;
      connection.calls = count;
      countCalls(change);
    };
    const stream = serveStream({
      input: socket,
      output: socket,
      build: () => mcpFace({ services, version, transport: 'stream', caller, toolsets, notices }),
      onInFlight,
      onError: error => log.write('debug', 'MCP', error),
    });
    const leave = notices.join(stream);
    socket.resume();
    await stream.closed;
    leave();
    onInFlight(0);
  }

  async function serveTerminal(connection: Connection): Promise<void> {
    await openPort(); // a terminal may ask for its address
    const caller = callers.get(connection.hello)!;
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
    const userToken = [{ tokenHash: hashOf(ownToken(tokenFile)) }];
    const bearers = new WeakMap<IncomingMessage, Run>();
    const asking = new WeakMap<IncomingMessage, Pick<McpFaceOptions, 'caller' | 'toolsets'>>();
    const mcp = createHttpHandler({
      owner: request => bearers.get(request)?.id ?? '',
      build: request =>
        mcpFace({
          services,
          version,
          transport: 'http',
          ...asking.get(request)!,
          notices,
        }),
      onInFlight: count => {
        countCalls(count - mine);
        mine = count;
      },
      onError: error => log.write('debug', 'MCP over HTTP', error),
    });
    notices.join(mcp.of(''));
    const http = await serveHttp({
      port: Number(env.MCP_SERVER_PORT) || stored || DEFAULT_PORT,
      admits: (token, request) => {
        const run = bearerOf(runner.liveRuns(), token);
        if (run) bearers.set(request, run);
        return run !== null || bearerOf(userToken, token) !== null;
      },
      mcp: {
        async handle(request, response) {
          const run = bearers.get(request);
          const { 'squad-workspace': workspace, 'squad-toolsets': toolsets = [] } = request.headers;
          asking.set(request, {
            caller: run ? await callerOfRun(run, identities) : httpCaller(workspace),
            toolsets: toolsetsIn([toolsets].flat().join()),
          });
          await mcp.handle(request, response);
        },
        close: () => mcp.close(),
      },
      onOpen: count => {
        httpOpen = count;
        reviewClients();
      },
      onError: thrown => log.write('error', 'A bug in HTTP', thrown),
    });
    overHttp = mcp;
    url = `http://127.0.0.1:${http.port}/mcp`;
    // The next hub takes the same port, so that clients' configurations stay true.
    if (http.port !== stored) await store.setSetting('http.port', String(http.port));
    return http;
  }
}

/** Throws INVALID_INPUT. */
const toolsetsOf = ({ toolsets, env }: Hello): readonly Toolset[] =>
  toolsetsIn(toolsets ?? env.SQUAD_TOOLSETS);

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
