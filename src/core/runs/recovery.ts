import type { Clock } from '../../base/clock.ts';
import type { HubSettings } from '../../schema/config.ts';
import { asSquadError, SquadError } from '../../schema/error.ts';
import type { EventBody } from '../../schema/event.ts';
import type { Run, StopReason } from '../../schema/run.ts';
import { loadBaseline } from '../evidence/baseline.ts';
import type { Engines } from '../ports/engine.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { Store } from '../ports/store.ts';
import type { Executor, FoundTurn } from '../ports/turns.ts';
import { MINUTE_MS, monotonicOf } from './admission.ts';
import { LiveRun, WAITING } from './live-run.ts';
import { storedEngine } from './run-record.ts';
import { cancelNote, type Runner } from './runner.ts';
import { continuesChat } from './turn-input.ts';

/**
 * Maximum number of starts to read from an earlier hub, for the limit of starts per minute. No limit in use is higher.
 */
const MAX_RECALLED = 5_000;

export type Recovered = Omit<Extract<EventBody, { type: 'hub.recovered' }>, 'type' | 'from'>;

export interface RecoveryPorts {
  clock: Clock;
  settings(): HubSettings;
  store: Store;
  files: RunFiles;
  executor: Executor;
  engines: Engines;
}

/**
 * Brings the database in line with the processes that are really running, so that every run is accounted for. Queued
 * runs are added last and in their old order, so that none overtakes another or exceeds the limit. Clients wait until
 * recovery is done. Therefore a run that never started costs only a check of its folder, and its files are read when
 * it starts.
 */
export async function recover(runner: Runner, ports: RecoveryPorts): Promise<Recovered> {
  const [runs, starts] = await Promise.all([ports.store.liveRuns(), startsOfLastMinute(ports)]);
  runner.recall(starts);
  return recoverRuns(runs, runner, ports);
}

/** Like `recover`, for runs that the runner does not know yet. Queued runs start with the next `pump`. */
export async function recoverRuns(
  runs: readonly Run[],
  runner: Runner,
  ports: RecoveryPorts,
): Promise<Recovered> {
  const counts: Recovered = { watched: 0, ended: 0, requeued: 0, lost: 0 };
  const toStop = await ports.store.runsAskedToStop();
  const outcomes = await Promise.allSettled(
    runs.map(run =>
      recoverRun(run, toStop.has(run.id), runner, ports).catch(thrown => giveUp(run, runner, ports, thrown)),
    ),
  );
  for (const [i, outcome] of outcomes.entries()) {
    if (outcome.status === 'rejected') continue;
    counts[outcome.value]++;
    if (outcome.value === 'requeued') runner.requeue(runs[i]!);
  }
  runner.wakeAll();
  // After an error of the database the caller repeats the recovery of the runs that the runner does not know yet.
  const failed = outcomes.find(({ status }) => status === 'rejected');
  if (failed) throw (failed as PromiseRejectedResult).reason;
  return counts;
}

/**
 * Reads the times of runs that were started in the last minute. Usually there are none, and reading one row is enough
 * to know that.
 */
async function startsOfLastMinute({ store, clock, settings }: RecoveryPorts): Promise<number[]> {
  const now = clock.now();
  // A start in the future was stored before the clock was set back. Its age is unknown, so it does not count.
  const newest = async (limit: number) =>
    (await store.events({ types: ['run.queued'], limit, reverse: true }))
      .filter(({ at }) => at > now - MINUTE_MS && at <= now)
      .map(({ at }) => monotonicOf(clock, at));
  if ((await newest(1)).length === 0) return [];
  return newest(Math.min(settings()['limits.spawns_per_minute'], MAX_RECALLED));
}

async function recoverRun(
  run: Run,
  wasAskedToStop: boolean,
  runner: Runner,
  ports: RecoveryPorts,
): Promise<keyof Recovered> {
  const { store, executor } = ports;
  const current = placedTurn(run);
  // A create-chat command that has run or is still running is not started again. Its output is read when the run
  // starts.
  if (run.status === 'queued' && !wasAskedToStop && !(await executor.hasBegun(current))) return 'requeued';
  const [stored, turns, request, found] = await Promise.all([
    storedEngine(run, ports).catch(ifLost),
    store.turns(run.id),
    stopRequestOf(run, store),
    executor.find(current, {
      ...{ keepLeftovers: run.keepLeftovers, isLeased: run.options.takeover },
      startsAgain: !wasAskedToStop,
    }),
  ]);
  if (stored instanceof SquadError) {
    await end(found);
    await runner.lose(run, { code: stored.code, message: stored.message });
    return 'lost';
  }
  if (found.state === 'never_started' && run.status === 'queued') {
    if (request === null) return 'requeued';
    // The run was asked to stop while its create-chat command was running.
    await end(await executor.find({ ...current, number: 0 }, { keepLeftovers: false }));
    await runner.endStopped(run, request.reason);
    return 'ended';
  }

  const entry = new LiveRun(run, stored, null);
  entry.turn = turns.find(({ number }) => number === run.turn) ?? null;
  entry.baseline = await loadBaseline(ports.files, { ...current, number: 1 });
  if (WAITING.includes(run.status) && entry.turn && entry.turn.endedAt !== null) {
    if (request) await runner.endStopped(run, request.reason);
    else runner.park(entry);
    return request ? 'ended' : 'watched';
  }
  if (continuesChat(run) && run.chatId !== null)
    entry.chatTotals = (await store.chat(run.chatId))?.totals ?? null;
  entry.stop = request?.reason ?? null;
  // A request time in the future was stored before the clock was set back, and cannot be compared with the end of the
  // turn.
  const isKnown = request !== null && request.at <= ports.clock.now();
  entry.stopAskedAt = isKnown ? monotonicOf(ports.clock, request.at) : null;
  if (found.state === 'live') {
    await runner.adopt(entry, found.turn, found.startedAt);
    return 'watched';
  }
  const seen =
    found.state === 'never_started'
      ? { end: { exitCode: null, spawnError: null, leftovers: [], endedAt: run.startedAt ?? run.createdAt } }
      : found;
  await runner.settle(entry, seen.end, 'startedAt' in seen ? seen.startedAt : run.createdAt);
  return found.state === 'ended' ? 'ended' : 'lost';
}

/** A run that cannot be inspected must not keep the hub, and with it every other run, from starting. */
async function giveUp(
  run: Run,
  runner: Runner,
  { executor }: RecoveryPorts,
  thrown: unknown,
): Promise<keyof Recovered> {
  const error = asSquadError(thrown);
  // An error of the database says nothing about the run, which may be running well.
  if (error.toShape().kind === 'database') throw error;
  await executor
    .find(placedTurn(run), { keepLeftovers: false })
    .then(end)
    .catch(() => {}); // the recovery of this run has already failed, so errors here are ignored
  await runner.lose(run, {
    code: 'LOST',
    message: `The state of the run could not be recovered: ${error.message}`,
  });
  return 'lost';
}

function ifLost(thrown: unknown): SquadError {
  if (thrown instanceof SquadError && thrown.code === 'LOST') return thrown;
  throw thrown;
}

/** The first stop request of the current turn. Requests in earlier turns ended with those turns. */
async function stopRequestOf(run: Run, store: Store): Promise<{ reason: StopReason; at: number } | null> {
  const [ended] = await store.events({ runId: run.id, types: ['run.turn_ended'], limit: 1, reverse: true });
  const after = ended?.seq ?? 0;
  const [event] = await store.events({ runId: run.id, types: ['run.stopping'], after, limit: 1 });
  if (event?.body.type !== 'run.stopping') return null;
  const { reason, by } = event.body;
  if (by !== undefined && reason === 'cancel') {
    const note = cancelNote({ name: by, folder: null }, run);
    if (!run.notes.includes(note)) run.notes.push(note);
  }
  return { reason, at: event.at };
}

const placedTurn = ({ id, turn, options }: Run) => ({ runId: id, number: turn, machine: options.machine });

async function end(found: FoundTurn): Promise<void> {
  if (found.state !== 'live') return;
  found.turn.stop(0);
  // A machine that does not answer gets the stop request later, and the start of the hub does not wait for it.
  if (!found.turn.isAway?.()) await found.turn.ended;
}
