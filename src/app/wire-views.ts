import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Terminals } from '../core/ports/sessions.ts';
import { BoardPages } from '../core/runs/board.ts';
import { Lifetime } from '../hub/lifetime.ts';
import { HubServer } from '../hub/server.ts';
import { requestedPort } from '../hub/startup.ts';
import { WaitingCalls } from '../hub/waiting-calls.ts';
import { definedVariables, type Handshake } from '../link/handshake.ts';
import { EndNotices, TeamUpdates } from '../mcp/notices.ts';
import { HubCalls } from '../operations/hub/other-hubs.ts';
import type { HubStatus, UserServices } from '../operations/operation.ts';
import { findTerminal, openWindow, terminalArguments } from '../process/programs/terminal-window.ts';
import { asSquadError } from '../schema/error.ts';
import type { RunId } from '../schema/ids.ts';
import { type Toolset, toolsetsIn } from '../schema/toolset.ts';
import { createTextSearch } from '../store/sqlite/text-search.ts';
import { watchFolder } from '../workspace/files/watch.ts';
import { demoEnvironment, makeDemoRepository } from '../workspace/setup/demo-repository.ts';
import { HttpPort } from './http-port.ts';
import type { HubHome } from './open-home.ts';
import { RunAudiences, serveMcp, serveTerminal, startedSince } from './serve-views.ts';
import { SubagentViews } from './subagent-views.ts';
import type { RunParts } from './wire-runs.ts';

const LINGER_MS = 60_000;

/** Parts that later phases create. Views use these parts only while the hub serves clients. */
interface LaterParts {
  stop(reason: string): void;
  /** Settles when recovery has determined what became of the runs of an earlier hub. */
  recovered(): Promise<unknown>;
}

export type ViewParts = ReturnType<typeof wireViews>;

/**
 * Phase 2, second half: creates every interface of the hub, and decides how long the hub keeps running for its
 * clients.
 */
export function wireViews(parts: HubHome, runs: RunParts, later: LaterParts) {
  const { home, env, version, programs, clock, files, store, settings, log, warn, restored, warnings } =
    parts;
  const { runner, clients, servers, rooms, workspaces, traces, hooks, sessions } = runs;
  const { inbox, reviews, proposals, integration, integrator, telemetry } = runs;
  const { identities } = clients;
  const tokenFile = join(home, 'token');
  const asking = new WaitingCalls();
  /** Aborted when the hub stops, so that nothing waits for runs any more. */
  const stopped = new AbortController();
  let calls = 0;
  let httpOpen = 0;
  /** Environment of the hub, until a terminal provides its own. */
  let webEnvironment = definedVariables(env);
  const countCalls = (change: number) => {
    calls += change;
    if (change < 0) asking.reportAnswered(-change);
    lifetime.review();
  };
  /** A client with an open HTTP response counts like a client on the socket. */
  const countClients = () => lifetime.onClients(server.clients + httpOpen);
  const debug = (error: unknown) => log.write('debug', 'MCP', error);
  const hubCalls = new HubCalls({
    ...{ rows: store.hubCalls, clock, warn },
    services: () => services,
    environment: () => webEnvironment,
    onInFlight: countCalls,
  });

  const services: UserServices = {
    ...{ clock, store, files, settings, runner, workspaces, sessions, traces },
    ...{ inbox, reviews, proposals, integration, integrator },
    engines: runs.engines,
    workTree: runs.workTree,
    worktrees: runs.worktrees,
    machines: runs.machines,
    activity: runs.activity,
    branchStates: runs.branchStates,
    terminals: terminalWindows(home, runs.commandLine),
    conversations: store,
    otherHubs: hubCalls,
    boards: new BoardPages(),
    demo: {
      make: async () => ({
        folder: await makeDemoRepository(),
        env: demoEnvironment(join(parts.programs, '..', 'roles')),
      }),
    },
    search: createTextSearch(),
    mcpConfigs: servers.configs,
    gateway: servers.gateway,
    audit: servers.audit,
    hub: {
      status: (): HubStatus => ({
        ...{ version, pid: process.pid, home, socket: parts.socket, database: parts.database },
        startedAt: parts.startedAt,
        clients: server.clients + httpOpen,
        callsInFlight: calls,
        sessions: http.sessions,
        memoryBytes: process.memoryUsage.rss(),
        url: http.url,
        page: http.web,
        ...{ tokenFile, warnings, restored },
        successor: clients.successor,
      }),
      lendEnvironment: lent => {
        webEnvironment = lent;
      },
      openWebUi: ip => http.openWebUi(ip),
      whileAsking: wait =>
        asking.while(stopping => {
          lifetime.review();
          return wait(stopping);
        }),
      stop: reason => void setImmediate(() => later.stop(reason)),
      reportBug: (operation, thrown) => log.write('error', `A bug in ${operation}`, thrown),
    },
  };

  const ended = async (id: RunId) => {
    await runner.untilEnded(id, stopped.signal);
    return stopped.signal.aborted ? null : store.run(id);
  };
  const notices = new EndNotices({ ended, teamFilesWritten: () => runs.team.flush() });
  const teamUpdates = new TeamUpdates({
    watch: (root, onChange) => watchFolder(join(root, '.squad'), onChange),
    run: id => store.run(id),
    ended,
  });
  const audiences = new RunAudiences();
  const http = new HttpPort({
    ...{
      services,
      version,
      tokenFile,
      programs,
      identities,
      runsDir: parts.runsDir,
      rooms,
      notices,
      teamUpdates,
    },
    serversOf: servers.viewOf,
    metrics: () => telemetry.prometheus(),
    port: requestedPort(env.MCP_SERVER_PORT, message => {
      warnings.push(message);
      warn(message);
    }),
    webEnvironment: () => webEnvironment,
    onInFlight: countCalls,
    onOpen: count => {
      httpOpen = count;
      countClients();
    },
    log: (level, message, cause) => log.write(level, message, cause),
  });
  servers.gateway.onChange((runId, what) => {
    audiences.tell(runId, what);
    http.tell(runId, what);
  });

  const lostCallsGone = Promise.withResolvers<unknown>();
  const subagents = new SubagentViews({
    ...{ version, workspaces, traces, debug },
    services: () => services,
    run: id => identities.run(id),
    serversGone: id => servers.gateway.release(id),
    lostGone: lostCallsGone.promise,
    onInFlight: countCalls,
  });
  const views = {
    ...{ services, version, workspaces, notices, teamUpdates, audiences, debug },
    serversOf: servers.viewOf,
    onInFlight: countCalls,
  };
  /**
   * Views (such as MCP or the terminal) of which a client was notified that runs were restored. Only the first client
   * of each view is.
   */
  const toldOfRestore = new Set<Handshake['view']>();
  const server = new HubServer({
    socketPath: parts.socket,
    version,
    warn,
    views: {
      mcp: connection => {
        const { handshake } = connection;
        return serveMcp(connection, clients.callerOf(handshake), toolsetsOf(handshake), views);
      },
      subagent: connection => subagents.serve(connection, clients.callerOf(connection.handshake)),
      control: async connection => {
        await http.open(); // the port is opened first, because the terminal may ask for its address
        await serveTerminal(connection, clients.callerOf(connection.handshake), views);
      },
    },
    ready: async (handshake, ask) => {
      toolsetsOf(handshake);
      const isDamaged = await later.recovered().then(
        () => false,
        thrown => asSquadError(thrown).code === 'DATABASE_CORRUPT' || Promise.reject(thrown),
      );
      // Nothing is written at the end, because the next hub rebuilds the damaged database.
      if (isDamaged) return null;
      const caller = await clients.identify(handshake, ask);
      if (handshake.view === 'subagent') return { warnings: await subagents.prepare(handshake, caller) };
      const { lostSince, view } = handshake;
      const isFirst = !toldOfRestore.has(view);
      toldOfRestore.add(view);
      return {
        ...(isFirst && restored !== null && { warnings: [restored] }),
        ...(lostSince !== undefined && { started: await startedSince(lostSince, caller, services) }),
      };
    },
    onClients: countClients,
    onNewer: (handshake, gone) => {
      if (!clients.welcomeSuccessor(handshake))
        return log.write(
          'info',
          `Version ${handshake.version} connected, but is not proven to be the user's; this hub stays`,
        );
      log.write(
        'info',
        `Version ${handshake.version} connected; this hub makes way when no call is in flight`,
      );
      lifetime.makeWay();
      void gone.then(() => {
        if (!clients.dropSuccessor(handshake)) lifetime.stay();
      });
    },
  });
  const lifetime = new Lifetime({
    lingerMs: Number(env.SQUAD_HUB_LINGER_MS) || LINGER_MS,
    isBusy: () => runner.busy || hooks.isBusy,
    callsInFlight: () => calls - asking.count,
    end: later.stop,
  });
  store.onEvents(events => {
    for (const listener of [runs.activity, notices, teamUpdates, runs.team]) listener.take(events);
    for (const { body, runId } of events) {
      const run = runId === null ? null : runner.current(runId);
      if (body.type === 'run.started') clients.runBegan(clock.now());
      if (run && body.type === 'run.started') void sessions.open(run);
      if (run && body.type === 'inbox.asked') hooks.tellAsk(run, body.item);
      if (body.type === 'run.ended' && runId !== null)
        // The runner forgets a run only after the end of the run is committed.
        void runner.untilEnded(runId, stopped.signal).then(() => {
          lifetime.review();
          void servers.gateway.release(runId);
          void sessions.close(runId);
          void http.endSessions(runId);
        });
    }
  });
  return {
    services,
    asking,
    stopped,
    server,
    http,
    subagents,
    hubCalls,
    lostCallsGone,
    teamUpdates,
    lifetime,
  };
}

/** Throws INVALID_INPUT. */
const toolsetsOf = ({ toolsets, env }: Handshake): readonly Toolset[] | null =>
  toolsetsIn(toolsets ?? env.SQUAD_TOOLSETS);

const WINDOW_TIMEOUT_MS = 1_000;

/** `squad`: program and arguments that start this hub's command line. */
const terminalWindows = (home: string, squad: readonly string[]): Terminals => ({
  find: env => findTerminal(env),
  async open(env, { run, takesOver }) {
    const { program, why } = findTerminal(env);
    if (program === null) throw Object.assign(new Error(why), { code: 'SPAWN_FAILED' });
    const attach = [...squad, 'attach', run, ...(takesOver ? ['--take-over'] : []), '--window'];
    await openWindow({
      argv: [program, ...terminalArguments(program, attach)],
      cwd: env.HOME ?? homedir(),
      // The new window must reach this hub, even if the terminal that opened the web UI uses another home.
      env: { ...env, SQUAD_HOME: home },
      settleMs: WINDOW_TIMEOUT_MS,
    });
  },
});
