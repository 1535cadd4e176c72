/** Puts the hub together: this file and its parts in `app/` are the only ones that know every adapter. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Clients } from './app/clients.ts';
import { definedIn, savedEnvironment } from './app/environments.ts';
import { openGateway } from './app/gateway-parts.ts';
import { HttpPort } from './app/http-port.ts';
import { RunAudiences } from './app/run-audiences.ts';
import { endpointOf, restoreTokens } from './app/run-endpoints.ts';
import { createPrepareFolder } from './app/run-folders.ts';
import { serveMcp, serveTerminal } from './app/serve-views.ts';
import { startedSince, takeStartEnvironment } from './app/start-environment.ts';
import { SubagentViews } from './app/subagent-views.ts';
import { TeamKeeper } from './app/team-keeper.ts';
import { terminalWindows } from './app/terminal-windows.ts';
import { UserHooks } from './app/user-hooks.ts';
import { openWork } from './app/work-parts.ts';
import { messageReader, Traces } from './core/conversations/recorder.ts';
import { askForServer } from './core/inbox/elicitation.ts';
import { BoardPages } from './core/runs/board.ts';
import { LastActivity } from './core/runs/last-activity.ts';
import { recordedRuns } from './core/runs/recorded-runs.ts';
import { recover } from './core/runs/recovery.ts';
import { keepRecords } from './core/runs/run-record.ts';
import { Runner } from './core/runs/runner.ts';
import { isSubagentCall } from './core/subagents/plan-subagent.ts';
import { createEngines } from './engines/create-engines.ts';
import { callerOfRun } from './hub/callers.ts';
import { HomeGuard } from './hub/home-guard.ts';
import { Lifetime } from './hub/lifetime.ts';
import { Log } from './hub/log.ts';
import { HubServer } from './hub/server.ts';
import { SettingsInForce } from './hub/settings.ts';
import { acquireHubLock, forgetHub, recordHub, requestedPort } from './hub/startup.ts';
import { WaitingCalls } from './hub/waiting-calls.ts';
import type { Handshake } from './link/handshake.ts';
import { ownFolder, pricesFile, socketPath } from './link/home.ts';
import { hubRecordPath, isBound, lockPath, otherHub } from './link/hub-record.ts';
import { EndNotices } from './mcp/end-notices.ts';
import { TeamUpdates } from './mcp/team-updates.ts';
import { recordToolCall } from './operations/dispatch.ts';
import type { HubStatus, UserServices } from './operations/operation.ts';
import { OPERATIONS } from './operations/operations.ts';
import { planReviewer } from './operations/review/plan-reviewer.ts';
import { createRunFiles } from './process/output/run-files.ts';
import { childEnvironment } from './process/programs/environment.ts';
import { createRunOfProcess } from './process/table/run-of-process.ts';
import { createSupervisor } from './process/turns/supervisor.ts';
import { asSquadError } from './schema/error.ts';
import type { EventBody } from './schema/event.ts';
import type { RunId } from './schema/ids.ts';
import type { Run } from './schema/run.ts';
import { describeRestored } from './schema/run-text.ts';
import { type Toolset, toolsetsIn } from './schema/toolset.ts';
import { CommitMark } from './store/commit-mark.ts';
import { openCheckedStore } from './store/open-checked.ts';
import { type Lock, takeLock } from './store/sqlite/lock.ts';
import { createTextSearch } from './store/sqlite/text-search.ts';
import { createPrices } from './workspace/cost/price-file.ts';
import { createWorkTree } from './workspace/evidence/changes.ts';
import { watchFolder } from './workspace/files/watch.ts';
import { keepPrivateGitIn } from './workspace/git/private-git.ts';
import { createSessions } from './workspace/runs/tmux-sessions.ts';
import { createWorkspaces } from './workspace/settings/open-workspace.ts';
import { createBranches } from './workspace/worktrees/branches.ts';
import { createWorktrees } from './workspace/worktrees/worktrees.ts';

export interface HubOptions {
  home: string;
  env: Record<string, string | undefined>;
  version: string;
  /** The folder of the bundled programs. */
  programs: string;
  /** Already known at the start: shown with its status. */
  warnings?: string[];
  /** Process that started this one (default: the parent). */
  startedBy?: number;
  /** Called between any two steps that belong together in git and the database: for those who want to see it die there. */
  checkpoint?(name: string): void;
}

const LINGER_MS = 60_000;
const STOP_MS = 10_000;
/** The call that found the damage is answered first. */
const DAMAGE_TOLD_MS = 100;
/** The client that started this hub waits for an answer, and loading HTTP takes longer than giving it. */
const PORT_AFTER_MS = 60;

export interface RunningHub {
  stop(reason: string): Promise<void>;
}

/** Null when another hub already has this home. */
export async function startHub(options: HubOptions): Promise<RunningHub | null> {
  const { home, env, version, programs, startedBy = process.ppid, checkpoint = () => {} } = options;
  ownFolder(home);
  const socket = socketPath(home);
  const taken = await acquireHubLock(() => lockOfHome(home), socket);
  if (!taken) return null;
  let lock = taken;
  let guard: HomeGuard | null = null;
  const runsDir = join(home, 'runs');
  const runOfProcess = createRunOfProcess(runsDir);
  await takeStartEnvironment({ home, env, startedBy, runOfProcess });
  const log = new Log(join(home, 'hub.log'), env.MCP_LOG_LEVEL);
  const clock = { now: () => Date.now(), monotonic: () => performance.now() };
  const startedAt = clock.now();
  const writeRecord = () => {
    recordHub(home, { pid: process.pid, version, startedAt });
    return true;
  };
  writeRecord();
  const database = env.MCP_DATABASE_PATH || join(home, 'squad.db');
  const warn = (message: string, cause: unknown) => log.write('warning', message, cause);

  const files = createRunFiles<RunId>({ runsDir, chatsDir: join(home, 'chats') });
  const damage = Promise.withResolvers<void>();
  const opened = await openCheckedStore({
    ...{ file: database, version },
    mark: new CommitMark(join(runsDir, '.database.json')),
    source: recordedRuns(files),
    onRestore: why => log.write('warning', `${why}; restoring runs from their folders`),
    onDamage: () => damage.resolve(),
  });
  const store = keepRecords(opened.store, files, warn);
  const settings = new SettingsInForce(store);
  await settings.load();
  const executor = createSupervisor({ runsDir, onTrouble: message => log.write('warning', message) });
  const engines = createEngines({ node: process.execPath, programs, home });
  keepPrivateGitIn(join(home, 'git'));
  const workTree = createWorkTree();
  const worktrees = createWorktrees({ folder: join(home, 'worktrees') });
  const branches = createBranches();
  const commandLine = [process.execPath, join(programs, '..', 'bin', 'squad.cjs')] as const;
  const sessions = createSessions({
    ...{ home, env, warn },
    settings: () => settings.all(),
    command: id => [...commandLine, 'log', '-f', '--window', id],
  });
  const endpoints = {
    ...{ home, programs, files, store },
    url: async () => {
      await http.open();
      return http.url;
    },
  };
  const hooks = new UserHooks({
    path: env.PATH ?? '',
    savedEnvironment: () => savedEnvironment(home),
    onDone: () => lifetime.review(),
    warn: message => log.write('warning', message),
  });
  const traces = new Traces({
    store,
    run: id => store.run(id),
    readMessages: messageReader({ files, engines }),
    warn,
  });
  const runner = new Runner({
    traces,
    clock,
    store,
    files,
    executor,
    engines,
    settings: () => settings.all(),
    endpoint: async (run, turn) => {
      await servers.prepare([run]);
      return endpointOf(run, turn, endpoints);
    },
    prices: createPrices(pricesFile(home), warn),
    workTree,
    prepareFolder: createPrepareFolder({ clock, store, files, worktrees }),
    isAsking: id => inbox.openOf(id).length > 0,
    onTurnOver: run => reviews.onTurnOver(run),
    onEnd: run => {
      hooks.tellEnd(run);
      reviews.onEnd(run);
      traces.over(run);
    },
    warn,
  });
  const servers = openGateway({
    ...{ home, version, clock, files },
    pins: store,
    current: id => runner.current(id),
    rolesOf: async run => {
      const workspace = await workspaces.open(await callerOfRun(run, identities));
      return (await workspace.roles()).map(({ id }) => id);
    },
    note: (id, text) => runner.note(id, text),
    ask: question => askForServer(question, inbox, runner, settings.all()['inbox.timeout_minutes']),
    onDenied: async (run, tool, count) =>
      recordToolCall(
        { services, caller: await callerOfRun(run, identities) },
        tool,
        'NOT_ALLOWED',
        clock.now(),
        count,
      ),
    log: (level, message) => log.write(level, message),
  });
  const { inbox, reviews, proposals, ...work } = openWork({
    ...{ home, clock, store, files, worktrees, branches, sessions, runner, checkpoint, warn },
    path: env.PATH ?? '',
    settings: () => settings.all(),
    planReviewer: async (coder, task) =>
      planReviewer({ services, caller: await callerOfRun(coder, identities) }, coder, task),
    nextTag: () => servers.nextTag(),
    log: message => log.write('info', message),
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

  const activity = new LastActivity(store, id => runner.current(id) !== null);
  const team = new TeamKeeper({
    ...{ store, clock, files, home },
    warn: message => log.write('warning', message),
  });

  const asking = new WaitingCalls();
  const restored = opened.restored && describeRestored(opened.restored);
  const warnings = [...(options.warnings ?? []), ...(restored === null ? [] : [restored])];
  /** Views whose first client was told of it. */
  const toldOfRestore = new Set<Handshake['view']>();
  let calls = 0;
  let httpOpen = 0;
  /** Until a terminal lends its own: what this hub was started with. */
  let pageEnvironment = definedIn(env);
  const tokenFile = join(home, 'token');
  const clients = new Clients({
    ...{ home, version, clock, runOfProcess },
    liveRuns: () => runner.liveRuns(),
    run: async id => runner.current(id) ?? (await store.run(id)),
    environment: id => files.environment(id),
  });
  const { identities } = clients;

  const services: UserServices = {
    clock,
    store,
    files,
    engines,
    workspaces,
    workTree,
    worktrees,
    branches,
    integration: work.integration,
    integrator: work.integrator,
    sessions,
    terminals: terminalWindows(home, commandLine),
    activity,
    traces,
    conversations: store,
    boards: new BoardPages(),
    reviews,
    inbox,
    proposals,
    search: createTextSearch(),
    mcpConfigs: servers.configs,
    gateway: servers.gateway,
    audit: servers.audit,
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
        sessions: http.sessions,
        memoryBytes: process.memoryUsage.rss(),
        url: http.url,
        page: http.page,
        tokenFile,
        warnings,
        restored,
        successor: clients.successor,
      }),
      lendEnvironment: lent => {
        pageEnvironment = lent;
      },
      openPage: ip => http.openPage(ip),
      whileAsking: wait =>
        asking.while(stopping => {
          lifetime.review();
          return wait(stopping);
        }),
      stop: reason => void setImmediate(() => stop(reason)),
      reportBug: (operation, thrown) => log.write('error', `A bug in ${operation}`, thrown),
    },
  };

  const lostGone = Promise.withResolvers<unknown>();
  const subagents = new SubagentViews({
    ...{ version, workspaces, traces },
    services: () => services,
    run: id => identities.run(id),
    serversGone: id => servers.gateway.release(id),
    lostGone: lostGone.promise,
    onInFlight: countCalls,
    debug: error => log.write('debug', 'MCP', error),
  });
  const server = new HubServer({
    socketPath: socket,
    version,
    views: {
      mcp: connection => {
        const { hello } = connection;
        return serveMcp(connection, clients.callerOf(hello), toolsetsOf(hello), views);
      },
      subagent: connection => subagents.serve(connection, clients.callerOf(connection.hello)),
      control: async connection => {
        await http.open(); // a terminal may ask for its address
        await serveTerminal(connection, clients.callerOf(connection.hello), views);
      },
    },
    ready: async (hello, ask) => {
      toolsetsOf(hello);
      const isDamaged = await recovered.then(
        () => false,
        thrown => asSquadError(thrown).code === 'DATABASE_CORRUPT' || Promise.reject(thrown),
      );
      // The next hub rebuilds the database.
      if (isDamaged) return null;
      const caller = await clients.identify(hello, ask);
      if (hello.view === 'subagent') return { warnings: await subagents.prepare(hello, caller) };
      const { lostSince, view } = hello;
      const isFirst = !toldOfRestore.has(view);
      toldOfRestore.add(view);
      return {
        ...(isFirst && restored !== null && { warnings: [restored] }),
        ...(lostSince !== undefined && { started: await startedSince(lostSince, caller, services) }),
      };
    },
    onClients: reviewClients,
    onNewer: (hello, gone) => {
      if (!clients.welcomeSuccessor(hello))
        return log.write(
          'info',
          `Version ${hello.version} is here, but it is not proven to be the user's; the hub stays`,
        );
      log.write('info', `Version ${hello.version} is here; making way when no call is in flight`);
      lifetime.makeWay();
      void gone.then(() => {
        if (!clients.dropSuccessor(hello)) lifetime.stay();
      });
    },
    warn,
  });
  const ended = async (id: RunId) => {
    await runner.untilEnded(id, stopped.signal);
    return stopped.signal.aborted ? null : store.run(id);
  };
  const notices = new EndNotices({
    ended,
    teamFilesWritten: () => team.flush(),
  });
  const teamUpdates = new TeamUpdates({
    watch: (root, onChange) => watchFolder(join(root, '.squad'), onChange),
    run: id => store.run(id),
    ended,
  });
  const audiences = new RunAudiences();
  servers.gateway.onChange((runId, what) => {
    audiences.tell(runId, what);
    http.tell(runId, what);
  });
  const http = new HttpPort({
    services,
    serversOf: servers.viewOf,
    version,
    port: requestedPort(env.MCP_SERVER_PORT, message => {
      warnings.push(message);
      log.write('warning', message);
    }),
    ...{ tokenFile, programs, identities, runsDir },
    pageEnvironment: () => pageEnvironment,
    notices,
    teamUpdates,
    onInFlight: countCalls,
    onOpen: count => {
      httpOpen = count;
      reviewClients();
    },
    log: (level, message, cause) => log.write(level, message, cause),
  });
  const views = {
    ...{ services, version, workspaces, notices, teamUpdates, audiences },
    serversOf: servers.viewOf,
    onInFlight: countCalls,
    debug: (error: unknown) => log.write('debug', 'MCP', error),
  };
  const lifetime = new Lifetime({
    lingerMs: Number(env.SQUAD_HUB_LINGER_MS) || LINGER_MS,
    isBusy: () => runner.busy || hooks.isBusy,
    callsInFlight: () => calls - asking.count,
    end: reason => void stop(reason),
  });
  const stopped = new AbortController();
  store.onEvents(events => {
    activity.take(events);
    notices.take(events);
    teamUpdates.take(events);
    team.take(events);
    // The runner lets go of a run only after its end was written down.
    for (const { body, runId } of events) {
      const run = runId === null ? null : runner.current(runId);
      if (body.type === 'run.started') clients.runBegan(clock.now());
      if (run && body.type === 'run.started') void sessions.open(run);
      if (run && body.type === 'inbox.asked') hooks.tellAsk(run, body.item);
      if (body.type === 'run.ended' && runId !== null)
        void runner.untilEnded(runId, stopped.signal).then(() => {
          lifetime.review();
          void servers.gateway.release(runId);
          void sessions.close(runId);
          void http.endSessions(runId);
        });
    }
  });

  const stop = once(async (reason: string) => {
    log.write('info', `Hub ${process.pid} stops: ${reason}`);
    guard?.close();
    // A hub that does not end would keep the next one out.
    setTimeout(() => process.exit(1), STOP_MS).unref();
    // At once where nobody waits: a newer client that was just greeted is to be answered by the newer hub.
    if (subagents.isBusy) await subagents.close();
    if (asking.count > 0) await asking.end();
    await Promise.all([server.close(clients.successor === null ? 'stop' : 'handover'), http.close()]);
    runner.close();
    traces.close();
    await Promise.all([reviews.close(), inbox.close()]);
    stopped.abort();
    teamUpdates.close();
    await Promise.all([team.flush(), hooks.close(), servers.close()]);
    await record({ type: 'hub.stopped', reason }).catch(thrown => warn('The stop was not recorded', thrown));
    await store.close();
    forgetHub(home);
    lock.release();
    process.exit(0);
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
  process.on('SIGHUP', () => {}); // the terminal that happened to start the hub may close
  process.on('uncaughtException', error => log.write('error', 'A bug', error));
  process.on('unhandledRejection', error => log.write('error', 'A bug', error));

  let lostCalls: Run[] = [];
  // Clients may knock while old runs are being accounted for; what they ask waits until that is done.
  const recovered = reviews
    .finishIntents()
    .then(() =>
      recover(runner, {
        ...{ clock, store, files, executor, engines },
        settings: () => settings.all(),
      }),
    )
    .then(async found => {
      // Whoever called them was told that its hub is lost, or is gone itself: nobody can hear their answer.
      lostCalls = runner.liveRuns().filter(isSubagentCall);
      for (const { startedAt } of runner.liveRuns()) if (startedAt !== null) clients.runBegan(startedAt);
      const canceller = { name: 'the next hub', folder: null };
      await Promise.all(lostCalls.map(({ id }) => runner.stop(id, 'cancel', canceller)));
      await restoreTokens(runner.liveRuns(), endpoints);
      await servers.prepare(runner.liveRuns().filter(({ status }) => status !== 'queued'));
      await work.recover();
      return found;
    });
  recovered.catch(() => {}); // told below, once the door is open
  await server.listen();
  guard = new HomeGuard({
    home,
    files: [
      { path: lockPath(home), restore: lockAgain },
      { path: hubRecordPath(home), restore: writeRecord },
      { path: socket, restore: () => server.listen().then(() => true) },
    ],
    warn,
    onLost: reason => void stop(reason),
  });
  log.write('info', `Hub ${version} started, pid ${process.pid}`);
  for (const warning of warnings) log.write('warning', warning);
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
  void damage.promise.then(() =>
    setTimeout(() => void stop('the database is damaged; the next hub rebuilds it'), DAMAGE_TOLD_MS),
  );
  setTimeout(() => {
    void http.open();
    const lostEnds = lostCalls.map(({ id }) => runner.untilEnded(id, stopped.signal));
    lostGone.resolve(Promise.all([servers.sweep(), ...lostEnds]));
    void traces.recover();
    void sessions.sweep(id => runner.current(id) !== null);
  }, PORT_AFTER_MS);
  return { stop };

  function lockAgain(): boolean {
    const again = takeLock(lockPath(home));
    if (again) lock = again;
    return again !== null;
  }

  function record(body: EventBody): Promise<void> {
    return store.commit({ events: [{ at: clock.now(), runId: null, squadId: null, body }] });
  }

  function countCalls(change: number): void {
    calls += change;
    if (change < 0) asking.took(-change);
    lifetime.review();
  }

  /** Who holds an HTTP answer open is there just as who holds the socket open. */
  function reviewClients(): void {
    lifetime.onClients(server.clients + httpOpen);
  }
}

/** Null while another hub lives, also one whose lock file was removed: that hub restores it. */
function lockOfHome(home: string): Lock | null {
  return otherHub(home) === null && !isBound(socketPath(home)) ? takeLock(lockPath(home)) : null;
}

/** Throws INVALID_INPUT. */
const toolsetsOf = ({ toolsets, env }: Handshake): readonly Toolset[] | null =>
  toolsetsIn(toolsets ?? env.SQUAD_TOOLSETS);

function once<T>(act: (argument: T) => Promise<void>): (argument: T) => Promise<void> {
  let done: Promise<void> | null = null;
  return argument => {
    done ??= act(argument);
    return done;
  };
}
