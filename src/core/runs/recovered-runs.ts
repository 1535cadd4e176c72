import type { RunId } from '../../schema/ids.ts';
import type { Run, RunError, StopReason } from '../../schema/run.ts';
import type { LiveTurn, TurnEnd } from '../ports/turns.ts';
import { isSubagentCall } from '../subagents/plan-subagent.ts';
import { monotonicOf, type RunQueue } from './admission.ts';
import { LiveRun } from './live-run.ts';
import type { RunLedger } from './run-ledger.ts';
import { stepOfUnstarted } from './run-state.ts';
import type { RunnerPorts } from './runner.ts';
import { messagesOnly } from './turn-end.ts';

const LOST_CALLER_NOTE =
  'The hub ended while this call was running: its caller got HUB_RESTARTED instead of the answer.';

interface RunnerParts {
  ports: RunnerPorts;
  live: Map<RunId, LiveRun>;
  queue: RunQueue;
  ledger: RunLedger;
  watch(entry: LiveRun, process: LiveTurn, seen: number): void;
  turnEnded(entry: LiveRun, end: TurnEnd): Promise<void>;
  forget(entry: LiveRun): void;
}

/** Hands runs of an earlier hub to the runner. */
export class RecoveredRuns {
  private readonly runner: RunnerParts;

  constructor(runner: RunnerParts) {
    this.runner = runner;
  }

  /** A run that never started. It waits for `pump`, and its files are read when it starts. */
  requeue(run: Run): void {
    const { live, queue } = this.runner;
    const entry = new LiveRun(run, null, null);
    live.set(run.id, entry);
    queue.add(entry);
  }

  /** A run whose agent is running. */
  async adopt(entry: LiveRun, process: LiveTurn, startedAt: number): Promise<void> {
    const { ports, watch } = this.runner;
    await this.takeIn(entry, process.pid, startedAt);
    const turn = { runId: entry.run.id, number: entry.turnNumber };
    const [seen, wroteAt] = await Promise.all([ports.files.size(turn, 'stdout'), ports.files.wroteAt(turn)]);
    entry.lastSignAt = wroteAt === null ? null : monotonicOf(ports.clock, wroteAt);
    watch(entry, process, seen);
  }

  /** A run whose turn ended while there was no hub. */
  async settle(entry: LiveRun, end: TurnEnd, startedAt: number): Promise<void> {
    const { ports, turnEnded } = this.runner;
    await this.takeIn(entry, null, startedAt);
    if (isSubagentCall(entry.run)) entry.run.notes.push(LOST_CALLER_NOTE);
    entry.follow(ports.files, ports.clock, messagesOnly(entry, ports), Number.POSITIVE_INFINITY);
    await turnEnded(entry, end);
  }

  /** A run that waits for a review and has no turn. */
  park(entry: LiveRun): void {
    this.runner.live.set(entry.run.id, entry);
    entry.pause();
  }

  /** Ends a run that has nothing left to read a result from. */
  async lose(run: Run, error: RunError): Promise<void> {
    const { ports, live, ledger, forget } = this.runner;
    const turn = (await ports.store.turns(run.id)).at(-1);
    const turns = turn && turn.endedAt === null ? [{ ...turn, endedAt: ports.clock.now() }] : [];
    await ledger.ended(run, 'lose', error, { turns, events: [] }, null, null);
    // It may have been added before it was given up.
    const entry = live.get(run.id);
    if (entry) forget(entry);
  }

  /** Ends a run that was asked to stop while it had no turn. */
  async end(run: Run, reason: StopReason): Promise<void> {
    await this.runner.ledger.ended(run, stepOfUnstarted(reason), null, { events: [] }, null, null);
  }

  private async takeIn(entry: LiveRun, pid: number | null, startedAt: number): Promise<void> {
    const { live, ledger } = this.runner;
    live.set(entry.run.id, entry);
    entry.isActive = true;
    // The earlier hub may have died between the start and its record.
    if (entry.run.status === 'queued') await ledger.started(entry, pid, startedAt);
  }
}
