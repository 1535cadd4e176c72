import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import type { EventBody, NewEvent } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Chat, ChatTotals, Run, RunError } from '../../schema/run.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { Change, Store } from '../ports/store.ts';
import type { TurnEnd } from '../ports/turns.ts';
import { LiveRun } from './live-run.ts';
import { savePlan } from './plan-file.ts';
import type { PlannedRun, PlannedSquad } from './plan-run.ts';
import { nextStatus, type RunTransition } from './run-state.ts';

export interface LedgerPorts {
  clock: Clock;
  store: Store;
  files: RunFiles;
  /** Called once for every ended run, after its end is on disk. The caller does not wait for it. */
  onEnd(run: Run): void;
  /** Called when the end of a run is decided and about to be written. */
  onDecided?(ended: Run): void;
  /** Reports an error that must not stop the hub. */
  warn(message: string, cause: unknown): void;
}

/** Delay before a failed write to the disk or the database is retried. */
export const RETRY_MS = 1_000;

/** Records what becomes of runs. No other code changes a run's status. */
export class RunLedger {
  private readonly ports: LedgerPorts;
  private isClosed = false;

  constructor(ports: LedgerPorts) {
    this.ports = ports;
  }

  event(run: Run, body: EventBody): NewEvent {
    return { at: this.ports.clock.now(), runId: run.id, squadId: run.squadId, body };
  }

  /** Records that the run now holds this chat. */
  chatOpened(run: Run, totals: ChatTotals | null = null): Promise<void> {
    return this.commit({ runs: [{ ...run }], chats: chatsOf(run, run.id, totals), events: [] });
  }

  async started(entry: LiveRun, pid: number | null, startedAt: number): Promise<void> {
    const { run } = entry;
    run.status = nextStatus(run.status, 'start');
    run.startedAt ??= startedAt;
    entry.turn = {
      runId: run.id,
      number: entry.turnNumber,
      pid,
      startedAt,
      deadlineAt: startedAt + entry.timeLeft(this.ports.clock),
      stop: entry.stop,
      endedAt: null,
      exitCode: null,
      leftovers: [],
    };
    await this.commit({
      runs: [{ ...run }],
      turns: [{ ...entry.turn }],
      chats: chatsOf(run, run.id),
      events: [this.event(run, { type: 'run.started', turn: entry.turnNumber, pid })],
    });
  }

  /**
   * Records the end of a turn of a run that continues. The run keeps its chat and files. Its status changes by
   * `step`; without a step it already waits for a review.
   */
  async paused(
    entry: LiveRun,
    end: TurnEnd,
    chatTotals: ChatTotals | null,
    step?: 'await_children' | 'await_limit',
    events: NewEvent[] = [],
  ): Promise<void> {
    const { run, turn } = entry;
    const status = step ? nextStatus(run.status, step) : run.status;
    const body: EventBody = {
      ...{ type: 'run.turn_ended' as const, turn: entry.turnNumber, exitCode: end.exitCode },
      ...(step && { status }),
    };
    const next = { ...run, status, tokenHash: null };
    await this.commit({
      runs: [next],
      turns: turn ? [{ ...turn }] : [],
      chats: chatsOf(run, run.id, chatTotals, entry.chats),
      events: [this.event(run, body), ...events],
    });
    Object.assign(run, next);
  }

  /** Records the end of an attempt, with `events`, and queues the run for its next attempt. */
  async startedAgain(entry: LiveRun, next: Run, events: NewEvent[] = []): Promise<void> {
    const { run, turn } = entry;
    const { roleId, engine } = next;
    await this.commit({
      runs: [next],
      turns: turn ? [{ ...turn }] : [],
      chats: [...chatsOf(run, null, null, entry.chats), ...chatsOf(next, next.id)],
      events: [
        this.event(run, { type: 'run.turn_ended', turn: entry.turnNumber, exitCode: turn?.exitCode ?? null }),
        ...events,
        this.event(run, { type: 'run.queued', roleId, engine, turn: next.turn }),
      ],
    });
    Object.assign(run, next);
  }

  /** Records the end of a turn, with `events`, and queues the next turn, which delivers the waiting messages. */
  async continued(
    entry: LiveRun,
    end: TurnEnd,
    chatTotals: ChatTotals | null,
    events: NewEvent[],
  ): Promise<void> {
    const { run, turn } = entry;
    const { roleId, engine } = run;
    const next = { ...run, status: nextStatus(run.status, 'continue'), turn: run.turn + 1, tokenHash: null };
    await this.commit({
      runs: [next],
      turns: turn ? [{ ...turn }] : [],
      chats: chatsOf(run, run.id, chatTotals, entry.chats),
      events: [
        ...events,
        this.event(run, {
          type: 'run.turn_ended',
          turn: run.turn,
          exitCode: end.exitCode,
          status: next.status,
        }),
        this.event(run, { type: 'run.queued', roleId, engine, turn: next.turn }),
      ],
    });
    Object.assign(run, next);
  }

  async ended(
    run: Run,
    step: RunTransition,
    error: RunError | null,
    change: Change,
    end: TurnEnd | null,
    chatTotals: ChatTotals | null,
    chats?: Iterable<string>,
  ): Promise<void> {
    const { clock } = this.ports;
    // Secrets are removed from the run's files before its end is on disk, because nobody would remove them later.
    // They are kept only for a run that could not be started: if this hub dies now, the next hub may start the run
    // again.
    const mayStartAgain = run.startedAt === null && step === 'fail';
    if (!mayStartAgain) await this.dropEnvironment(run.id);
    const ended: Run = {
      ...run,
      status: nextStatus(run.status, step),
      error,
      tokenHash: null,
      endedAt: end?.endedAt ?? clock.now(),
    };
    this.ports.onDecided?.(ended);
    const body: EventBody = {
      type: 'run.ended',
      status: ended.status,
      exitCode: end?.exitCode ?? null,
      error,
      usage: run.usage,
      leftovers: end?.leftovers ?? [],
      durationMs: run.startedAt === null ? null : Math.max(0, ended.endedAt! - run.startedAt),
    };
    await this.commit({
      ...change,
      runs: [ended],
      chats: chatsOf(run, null, chatTotals, chats),
      events: [...change.events, this.event(run, body)],
    });
    Object.assign(run, ended);
    this.ports.onEnd(run);
    if (mayStartAgain) await this.dropEnvironment(run.id);
  }

  private async dropEnvironment(id: RunId): Promise<void> {
    const { files, warn } = this.ports;
    await files
      .dropEnvironment(id)
      .catch(thrown => warn(`The environment of ${id} is still on disk`, thrown));
  }

  /**
   * Commits a fact about a running process. Such a fact cannot be rejected, so the hub waits while the disk is full
   * or the database is locked.
   */
  commit(change: Change): Promise<void> {
    return this.retry('a change of state', () => this.ports.store.commit(change));
  }

  async retry(what: string, act: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await act();
      } catch (thrown) {
        if (this.isClosed) throw thrown;
        this.ports.warn(`Could not write ${what}; trying again`, thrown);
        await new Promise(wake => setTimeout(wake, RETRY_MS));
      }
    }
  }

  /** Stops retrying. The next hub recovers what is not on disk by now. */
  close(): void {
    this.isClosed = true;
  }
}

/** Rows for the chats of a run. Only the current chat gets totals; the other chats are released. */
const chatsOf = (
  { chatId, engine, createdAt }: Run,
  runId: RunId | null,
  totals: ChatTotals | null = null,
  ids: Iterable<string> = chatId === null ? [] : [chatId],
): Chat[] => [...ids].map(id => ({ id, engine, runId, totals: id === chatId ? totals : null, createdAt }));

/**
 * Saves a squad: first the files of its runs, then its rows together with the change `along` in one transaction.
 * Leaves nothing behind on an error.
 */
export async function saveSquad(
  { squad, runs }: PlannedSquad,
  { store, files }: LedgerPorts,
  ledger: RunLedger,
  along: Change = { events: [] },
): Promise<LiveRun[]> {
  try {
    const entries = await Promise.all(runs.map(planned => writeFiles(planned, files)));
    await store.commit({
      ...along,
      squads: [squad],
      // A chat that the run continues is taken now, so that hubs of one database cannot both start a run on it.
      chats: [
        ...runs.flatMap(({ run }) => (run.chatIsNew ? [] : chatsOf(run, run.id))),
        ...(along.chats ?? []),
      ],
      runs: [...runs.map(({ run }) => ({ ...run })), ...(along.runs ?? [])],
      events: [
        {
          at: squad.createdAt,
          runId: null,
          squadId: squad.id,
          body: { type: 'squad.created', members: runs.length },
        },
        ...runs.map(({ run }) => ledger.event(run, queued(run))),
        ...along.events,
      ],
    });
    return entries;
  } catch (thrown) {
    await Promise.allSettled(runs.map(({ run }) => files.remove(run.id)));
    throw thrown;
  }
}

function queued({ roleId, engine, options: { subagent } }: Run): EventBody {
  return { type: 'run.queued', roleId, engine, ...(subagent !== null && { subagent }) };
}

async function writeFiles(
  { run, request, prompt, engine, spec, others, env, variables }: PlannedRun,
  files: RunFiles,
): Promise<LiveRun> {
  const turn = { runId: run.id, number: 1 };
  const { promptFile } = await files.prepare(turn, prompt);
  await Promise.all([
    files.saveEnvironment(run.id, env),
    Object.keys(variables).length > 0 && files.saveVariables(run.id, variables),
    savePlan(files, turn, spec, others, request),
  ]);
  return new LiveRun(run, { engine, spec }, { prompt, promptFile, env });
}

/**
 * Timeout of a brief wait for a write. A commit takes less, and a caller who waits for the answer hardly notices it.
 */
const WRITE_TIMEOUT_MS = 250;

/** Waits briefly for the write, so that the next read sees it. Gives up if the database is locked. */
export async function waitBrieflyForWrite(written: Promise<unknown>): Promise<void> {
  await Promise.race([written, delay(WRITE_TIMEOUT_MS, null, { ref: false })]);
}
