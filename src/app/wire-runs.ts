import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { messageReader, Traces } from '../core/conversations/recorder.ts';
import { askForServer } from '../core/inbox/elicitation.ts';
import { EngineAsks } from '../core/inbox/engine-asks.ts';
import { Inbox } from '../core/inbox/inbox.ts';
import { BranchStates } from '../core/integration/branch-states.ts';
import { Integrator } from '../core/integration/integrator.ts';
import type { Branches } from '../core/ports/worktrees.ts';
import { Proposals } from '../core/review/pull-requests.ts';
import { ReviewLoop } from '../core/review/review-loop.ts';
import { LastActivity } from '../core/runs/last-activity.ts';
import { Runner } from '../core/runs/runner.ts';
import { createEngines } from '../engines/create-engines.ts';
import { createGitHub } from '../github/git-host.ts';
import { callerOfRun } from '../hub/callers.ts';
import { bearerOf } from '../hub/token.ts';
import { savedEnvironment } from '../link/environment-file.ts';
import { definedVariables } from '../link/handshake.ts';
import { pricesFile } from '../link/home.ts';
import { RemoteCode } from '../machines/code.ts';
import { Desk } from '../machines/desk.ts';
import { BoxMachines } from '../machines/machines.ts';
import { placedExecutor, RemoteTurns } from '../machines/remote-turns.ts';
import { recordToolCall } from '../operations/dispatch.ts';
import type { UserServices } from '../operations/operation.ts';
import { OPERATIONS } from '../operations/operations.ts';
import { planReviewer } from '../operations/review/review-tools.ts';
import { childEnvironment } from '../process/programs/environment.ts';
import { createRunCheck } from '../process/programs/run-logged.ts';
import { createRooms } from '../process/sandbox/rooms.ts';
import { createSandboxes } from '../process/sandbox/sandboxes.ts';
import { createSupervisor } from '../process/turns/supervisor.ts';
import { createPrices } from '../workspace/cost/price-file.ts';
import { createWorkTree } from '../workspace/evidence/changes.ts';
import { openGit } from '../workspace/git/git.ts';
import { keepPrivateGitIn } from '../workspace/git/private-git.ts';
import { createIntegration } from '../workspace/integration/integration.ts';
import { createConfineTurn } from '../workspace/runs/confine-turn.ts';
import { createSessions } from '../workspace/runs/tmux-sessions.ts';
import { createWorkspaces } from '../workspace/settings/open-workspace.ts';
import { createBranches } from '../workspace/worktrees/run-branch.ts';
import { createCodeTravel } from '../workspace/worktrees/travel.ts';
import { createWorktrees } from '../workspace/worktrees/worktrees.ts';
import { Clients } from './clients.ts';
import { openGateway } from './gateway-parts.ts';
import { leasedExecutor } from './hub-lease.ts';
import type { HubHome } from './open-home.ts';
import { createPrepareFolder, endpointOf } from './prepare-run.ts';
import { TeamKeeper } from './team-keeper.ts';
import { lazyTelemetry } from './telemetry-parts.ts';
import { UserHooks } from './user-hooks.ts';

async function worktreeNames(folder: string): Promise<string[]> {
  const repositories = await readdir(folder).catch(() => []);
  const names = await Promise.all(repositories.map(name => readdir(join(folder, name)).catch(() => [])));
  return names.flat();
}

/** Parts that are created after the runs. Runs use these parts only while the hub serves clients. */
interface LaterParts {
  services(): UserServices;
  /** Opens the HTTP port if it is not open yet. Null when that fails. */
  httpUrl(): Promise<string | null>;
  /** Called when something ended that had kept the hub from being idle. */
  onIdler(): void;
}

export type RunParts = ReturnType<typeof wireRuns>;

/** Phase 2, first half: creates everything that runs agents and decides what becomes of their work. */
export function wireRuns(parts: HubHome, later: LaterParts) {
  const { home, env, version, programs, clock, files, store, settings, warn } = parts;
  const allSettings = () => settings.all();
  const path = env.PATH ?? '';
  const telemetry = lazyTelemetry({
    ...{ env, version, store, warn },
    hub: parts.hub,
    environment: id => files.environment(id),
    liveRuns: () => runner.liveRuns(),
  });
  const rooms = createRooms({
    socket: parts.socket.replace(/\.sock$/, '-proxy.sock'),
    program: join(programs, 'sandbox-proxy.cjs'),
    async hubPort() {
      const url = await later.httpUrl();
      return url === null ? null : Number(new URL(url).port);
    },
    warn,
  });
  const supervisor = createSupervisor({
    runsDir: parts.runsDir,
    sandboxes: createSandboxes({ path, rooms }),
    isLeased: parts.lease !== null,
    onError: message => warn(message),
  });
  const local = parts.lease ? leasedExecutor(supervisor, parts.lease, parts.runsDir) : supervisor;
  const engines = createEngines({ node: process.execPath, programs, home });
  const machines = new BoxMachines({
    ...{ clock, store, warn },
    env: definedVariables(env),
    runnerFile: join(programs, 'runner.cjs'),
    clis: () => engines.programs(),
    busy: name => runner.liveRuns().filter(({ options }) => options.machine === name).length,
    kept: async name => {
      const made = await worktreeNames(join(home, 'worktrees'));
      // Runs that have not ended are read last. A run that starts later has no files on the machine when the machine
      // gets the list.
      const there = runner.liveRuns().filter(({ options }) => options.machine === name);
      const own = there.flatMap(({ worktree }) => (worktree ? basename(worktree.path) : []));
      return { runs: there.map(({ id }) => id), worktrees: [...made, ...own] };
    },
    desk: new Desk({ url: later.httpUrl, runWith: token => bearerOf(runner.liveRuns(), token) }),
    onChange: () => runner.pump(),
  });
  const remoteTurns = new RemoteTurns({
    link: name => machines.link(name),
    leaseMs: () => settings.all()['machines.lease_seconds'] * 1000,
    folders: { runs: parts.runsDir, chats: join(home, 'chats'), worktrees: join(home, 'worktrees') },
    node: process.execPath,
    scriptedAgent: join(programs, 'scripted-agent.cjs'),
    maxOutput: () => settings.all()['output.max_bytes'],
    warn,
  });
  const executor = telemetry.traced(placedExecutor(local, remoteTurns));
  keepPrivateGitIn(join(home, 'git'));
  const workTree = createWorkTree();
  const worktrees = createWorktrees({ folder: join(home, 'worktrees') });
  const ownBranches = createBranches();
  const remoteCode = new RemoteCode({
    link: name => machines.link(name),
    travel: createCodeTravel(ownBranches),
    isInUse: ({ id }, { path: folder }) =>
      runner
        .liveRuns()
        .some(run => run.id !== id && run.status === 'running' && run.worktree?.path === folder),
  });
  // Uncommitted work of an agent on another machine is on that machine.
  const branches: Branches = {
    ...ownBranches,
    async prepareAll(worktree, message) {
      const there = runner
        .liveRuns()
        .find(run => run.options.machine !== null && run.worktree?.path === worktree.path);
      if (there?.status === 'running') await remoteCode.take(there, worktree);
      return ownBranches.prepareAll(worktree, message);
    },
  };
  const commandLine = [process.execPath, join(programs, '..', 'bin', 'squad.cjs')] as const;
  const sessions = createSessions({
    ...{ home, env, warn },
    settings: allSettings,
    command: id => [...commandLine, 'log', '-f', '--window', id],
  });
  const endpoints = { ...{ home, programs, files, store }, url: later.httpUrl };
  const hooks = new UserHooks({
    path,
    savedEnvironment: () => savedEnvironment(home),
    onDone: later.onIdler,
    warn,
  });
  const traces = new Traces({
    store,
    run: id => store.run(id),
    readMessages: messageReader({ files, engines }),
    warn,
  });
  const runner = new Runner({
    ...{ traces, clock, store, files, executor, engines, machines, workTree, warn },
    checkpoint: parts.checkpoint,
    onAsk: (run, ask, turn) => engineAsks.take(run, ask, turn),
    settings: allSettings,
    endpoint: async (run, turn) => {
      await servers.prepare([run]);
      const endpoint = await endpointOf(run, turn, endpoints);
      const { machine } = run.options;
      if (endpoint === null || machine === null) return endpoint;
      const { port } = (await machines.link(machine).ask('door', {})).answer;
      return { ...endpoint, url: `http://127.0.0.1:${port}/mcp` };
    },
    prices: createPrices(pricesFile(home), warn),
    prepareFolder: createPrepareFolder({
      ...{ clock, store, files, worktrees },
      send: (...asked) => remoteCode.send(...asked),
    }),
    confine: createConfineTurn({
      ...{ files, worktrees, squadHome: home },
      isShared: ({ id, worktree }) =>
        runner
          .liveRuns()
          .some(run => run.id !== id && run.status === 'running' && run.worktree?.path === worktree?.path),
    }),
    collectCommits: async (run, end) => {
      const { worktree, options } = run;
      // The commits of a lost run cannot be fetched while its machine does not answer, and the machine may never come
      // back.
      if (worktree && options.machine !== null && end.lost && machines.isAway(options.machine))
        return `What it did since its last turn is still on ${options.machine}, which does not answer.`;
      if (worktree && options.machine !== null) return remoteCode.take(run, worktree);
      return worktree && (await worktrees.collect(worktree)).note;
    },
    isAsking: id => inbox.openOf(id).length > 0,
    onTurnOver: run => reviews.onTurnOver(run),
    onEnd: run => {
      hooks.tellEnd(run);
      reviews.onEnd(run);
      traces.over(run);
      if (run.options.machine !== null) machines.tidySoon(run.options.machine);
    },
  });
  const clients = new Clients({
    ...{ home, version, clock, runOfProcess: parts.runOfProcess },
    liveRuns: () => runner.liveRuns(),
    run: async id => runner.current(id) ?? (await store.run(id)),
    environment: id => files.environment(id),
  });
  const { identities } = clients;
  const servers = openGateway(parts, {
    current: id => runner.current(id),
    rolesOf: async run => {
      const workspace = await workspaces.open(await callerOfRun(run, identities));
      return (await workspace.roles()).map(({ id }) => id);
    },
    note: (id, text) => runner.note(id, text),
    onCall: entry => telemetry.gatewayCall(entry),
    ask: question => askForServer(question, inbox, runner, settings.all()['inbox.timeout_minutes']),
    onDenied: async (run, tool, count) => {
      const call = { services: later.services(), caller: await callerOfRun(run, identities) };
      await recordToolCall(call, tool, 'NOT_ALLOWED', clock.now(), count);
    },
  });
  const ofRuns = {
    ...{ clock, store, files, worktrees, branches, sessions, runner, warn },
    checkpoint: parts.checkpoint,
    settings: allSettings,
  };
  const inbox = new Inbox({
    ...ofRuns,
    current: id => runner.current(id),
    timeLeft: id => runner.timeLeft(id),
  });
  const engineAsks = new EngineAsks({
    ...{ inbox, engines, warn },
    whileWaiting: (id, wait) => runner.whileWaiting(id, wait),
  });
  const reviews = new ReviewLoop({
    ...ofRuns,
    plan: async (coder, task) => {
      const call = { services: later.services(), caller: await callerOfRun(coder, identities) };
      return planReviewer(call, coder, task);
    },
  });
  const gitHost = createGitHub({ openGit, env: { PATH: path } });
  const proposals = new Proposals({ ...ofRuns, reviews, gitHost });
  const integration = createIntegration();
  const integrator = new Integrator({
    ...ofRuns,
    integration,
    liveRuns: () => runner.liveRuns(),
    runCheck: createRunCheck({ nextTag: () => servers.nextTag() }),
    setupLog: join(home, 'check-setup.log'),
  });
  const workspaces = createWorkspaces({
    home,
    shippedRoles: join(programs, '..', 'roles'),
    shippedTemplates: join(programs, '..', 'templates'),
    ownTools: new Set(OPERATIONS.flatMap(({ name, tool }) => (tool ? name : []))),
    engines,
    environment: async (caller, keep) =>
      childEnvironment({ client: caller.env, saved: savedEnvironment(home), home: homedir(), keep }),
    onFault: (file, fault) => warn(`${file} cannot be used: ${fault}`),
  });
  return {
    ...{
      executor,
      machines,
      rooms,
      engines,
      workTree,
      worktrees,
      commandLine,
      sessions,
      endpoints,
      hooks,
      traces,
      telemetry,
    },
    ...{
      runner,
      clients,
      servers,
      workspaces,
      inbox,
      engineAsks,
      reviews,
      proposals,
      integration,
      integrator,
    },
    branchStates: new BranchStates({ clock, store, integration }),
    activity: new LastActivity(store, id => runner.current(id) !== null),
    team: new TeamKeeper({ store, clock, files, home, warn }),
  };
}
