import { HomeGuard } from '../hub/home-guard.ts';
import { hubRecordPath, lockPath } from '../link/hub-record.ts';
import type { UserServices } from '../operations/operation.ts';
import { stopAsAsked } from '../operations/runs/cancel-run.ts';
import type { HubHome } from './open-home.ts';
import type { Recovered } from './recover-runs.ts';
import { canReadHome, Takeovers } from './take-over.ts';
import type { RunParts } from './wire-runs.ts';
import type { ViewParts } from './wire-views.ts';

const STOP_TIMEOUT_MS = 10_000;
/**
 * Delay before the hub stops because of a damaged database, so that the call that found the damage is answered first.
 */
const DAMAGE_STOP_DELAY_MS = 100;
/**
 * Delay before HTTP is loaded. The client that started this hub waits for an answer, and loading HTTP takes longer
 * than answering.
 */
const HTTP_DELAY_MS = 60;

export interface RunningHub {
  /** Settles when the hub has closed everything. */
  stop(reason: string): Promise<void>;
  /** Settles after a stop. False means that the stop took too long. */
  ended: Promise<boolean>;
  reportBug(error: unknown): void;
}

export interface HubStop extends RunningHub {
  /** Calls `close` when the hub begins to stop, or at once if it is already stopping. */
  onStop(close: () => void): void;
}

export function createStop(parts: HubHome, runs: RunParts, views: ViewParts): HubStop {
  const { log, warn } = parts;
  const { runner, traces, reviews, inbox, team, hooks, servers, clients, telemetry, rooms, machines } = runs;
  const { server, http, subagents, asking, teamUpdates, lifetime, stopped } = views;
  const stopping = new AbortController();
  const ended = Promise.withResolvers<boolean>();
  let done: Promise<void> | null = null;

  async function stop(reason: string): Promise<void> {
    log.write('info', `Hub ${process.pid} stops: ${reason}`);
    stopping.abort();
    // A hub that never ends would keep the next hub from starting.
    const tooLate = setTimeout(() => ended.resolve(false), STOP_TIMEOUT_MS).unref();
    // Waits only if a subagent is busy. Otherwise the hub stops at once, because a newer client has just connected and
    // waits for the newer hub.
    if (subagents.isBusy) await subagents.close();
    if (asking.count > 0) await asking.end();
    await Promise.all([server.close(clients.successor === null ? 'stop' : 'handover'), http.close()]);
    lifetime.close();
    runner.close();
    machines.close();
    rooms.close();
    traces.close();
    await Promise.all([reviews.close(), inbox.close()]);
    stopped.abort();
    teamUpdates.close();
    await Promise.all([team.flush(), hooks.close(), servers.close()]);
    await parts
      .record({ type: 'hub.stopped', reason })
      .catch(thrown => warn('The stop was not recorded', thrown));
    await Promise.all([parts.close(), telemetry.close()]);
    clearTimeout(tooLate);
    ended.resolve(true);
  }

  return {
    ended: ended.promise,
    reportBug: error => log.write('error', 'A bug', error),
    stop(reason) {
      done ??= stop(reason);
      return done;
    },
    onStop(close) {
      if (stopping.signal.aborted) close();
      else stopping.signal.addEventListener('abort', close, { once: true });
    },
  };
}

/**
 * Phase 4: opens the socket, then starts waiting runs once recovery is done. Clients that connect before that are
 * served after it.
 */
export async function serveHub(
  parts: HubHome,
  runs: RunParts,
  { services, server, http, hubCalls, lostCallsGone, stopped }: ViewParts,
  { stop, onStop }: HubStop,
  recovered: Promise<Recovered>,
): Promise<void> {
  const { home, version, log, warn } = parts;
  const { runner, servers, traces, sessions, rooms } = runs;
  await server.listen();
  const guard = new HomeGuard({
    home,
    files: [
      { path: lockPath(home), restore: parts.lockAgain },
      { path: hubRecordPath(home), restore: parts.writeRecord },
      { path: parts.socket, restore: () => server.listen().then(() => true) },
    ],
    warn,
    onLost: reason => void stop(reason),
  });
  onStop(() => guard.close());
  log.write('info', `Hub ${version} started, pid ${process.pid}`);
  for (const warning of parts.warnings) log.write('warning', warning);
  const { counts, lostCalls } = await recovered.catch(async thrown => {
    // Clients that connected during the recovery are notified first.
    await new Promise(settle => setImmediate(settle));
    await server.close('stop');
    throw thrown;
  });
  await parts.record({ type: 'hub.started', version, pid: process.pid });
  if (Object.values(counts).some(count => count > 0)) {
    await parts.record({ type: 'hub.recovered', ...counts });
    log.write('info', `Recovered: ${JSON.stringify(counts)}`);
  }
  runner.pump();
  parts.store.answerHubs(() => ({
    ...{ version, pid: process.pid, startedAt: parts.startedAt, now: parts.clock.now() },
    memoryBytes: process.memoryUsage.rss(),
  }));
  await parts.store.hubCalls?.reset();
  const stopListening = parts.store.onOtherHub(notice => {
    if (notice === 'calls') hubCalls.look();
    if (notice !== 'changes') return;
    void readOtherHubs(parts, runs, services).catch(thrown =>
      warn('Changes of other hubs could not be read', thrown),
    );
  });
  onStop(stopListening);
  onStop(() => hubCalls.close());
  const takeovers = new Takeovers(parts, runs);
  parts.lease?.serve({
    onLost: () => void stop('another hub has taken over its runs, or a later hub of its home has started'),
    canRead: canReadHome,
    async takeOver(hub, of) {
      const isDone = await takeovers.takeOver(hub, of);
      // The lost hub may not have heard all requests to stop its runs.
      await readOtherHubs(parts, runs, services);
      return isDone;
    },
  });
  const later = (ms: number, act: () => void) => {
    const timer = setTimeout(act, ms);
    stopped.signal.addEventListener('abort', () => clearTimeout(timer));
  };
  void parts.damaged.then(() =>
    later(DAMAGE_STOP_DELAY_MS, () => void stop('the database is damaged; the next hub rebuilds it')),
  );
  later(HTTP_DELAY_MS, () => {
    void http.open();
    // Agents of an earlier hub may still run in sandboxes.
    void rooms.attach();
    const lostEnds = lostCalls.map(({ id }) => runner.untilEnded(id, stopped.signal));
    lostCallsGone.resolve(Promise.all([servers.sweep(), ...lostEnds]));
    void traces.recover();
    void sessions.sweep(id => runner.current(id) !== null);
  });
}

/** Applies settings and pins that another hub changed, and stops runs as other hubs asked. */
async function readOtherHubs(
  { settings }: HubHome,
  { servers }: RunParts,
  services: UserServices,
): Promise<void> {
  await Promise.all([settings.load(), servers.gateway.reloadPins()]);
  services.runner.pump();
  await stopAsAsked(services);
}
