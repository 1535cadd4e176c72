import { randomUUID } from 'node:crypto';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { HubSettings } from '../../schema/config.ts';
import { asSquadError } from '../../schema/error.ts';
import type { EventBody, NewEvent } from '../../schema/event.ts';
import type { Baseline } from '../../schema/evidence.ts';
import type { RunId } from '../../schema/ids.ts';
import { isEnd, type Run, type RunError, type StopReason, type Usage } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import type { NetworkAccess } from '../../schema/sandbox.ts';
import { remainingBudget } from '../cost/budget.ts';
import { BudgetWatch } from '../cost/budget-watch.ts';
import type { PriceList } from '../cost/prices.ts';
import { takeBaseline } from '../evidence/baseline.ts';
import type { RunIdentity } from '../policy.ts';
import type { Engine, Engines } from '../ports/engine.ts';
import type { Change } from '../ports/store.ts';
import type { Command, LiveTurn, SandboxProblem, TurnEnd } from '../ports/turns.ts';
import { isSubagentCall } from '../subagents/plan-subagent.ts';
import { ChatClaims, monotonicOf, RunQueue, SpawnLimit } from './admission.ts';
import { LiveRun } from './live-run.ts';
import type { PlannedSquad } from './plan-run.ts';
import { type RunEndPorts, RunEnds } from './run-ends.ts';
import { RunLedger, saveSquad, waitBrieflyForWrite } from './run-ledger.ts';
import { stepOfUnstarted } from './run-state.ts';
import { type Silence, StallWatch } from './stall-watch.ts';
import { promptOf, type Sent, sentBefore, type Told, tellRun } from './tell.ts';
import { messagesOnly } from './turn-end.ts';
import { driverStart } from './turn-input.ts';
import { watchOutput } from './turn-limits.ts';
import { confined, startTurn, type TurnStartPorts } from './turn-start.ts';
import { type TwoWayPorts, TwoWayTurn } from './two-way.ts';
import { beginWaiting, queueNextTurn, requireReview } from './waiting-run.ts';

export interface Canceller {
  /** Name of the client, or id of the run, that cancelled. */
  name: string;
  /** Workspace of the canceller. Null if unknown or irrelevant. */
  folder: string | null;
}

const NAMES: Readonly<Record<string, string>> = { terminal: 'a terminal', page: 'the web UI' };

/** Note in the result of a cancelled run. */
export function cancelNote({ name, folder }: Canceller, { workspace }: Pick<Run, 'workspace'>): string {
  const where = folder === null || folder === workspace ? '' : ` in ${folder}`;
  return `Cancelled by ${NAMES[name] ?? name}${where}.`;
}

export interface RunnerPorts
  extends Omit<TurnStartPorts, 'twoWay'>,
    Pick<RunEndPorts, 'collectCommits' | 'traces' | 'onTurnOver'>,
    Pick<TwoWayPorts, 'checkpoint' | 'onAsk'> {
  engines: Engines;
  settings(): HubSettings;
  prices(): PriceList;
  /** Whether the run has an open question in the inbox. */
  isAsking(id: RunId): boolean;
}

/** Owns every run that has not ended: the queue, the running turns, and their stops. */
export class Runner {
  private readonly ports: RunnerPorts & Pick<TurnStartPorts, 'twoWay'>;
  private readonly live = new Map<RunId, LiveRun>();
  private readonly queue: RunQueue;
  private readonly spawnLimit = new SpawnLimit();
  private readonly outputWatch: { close(): void };
  private readonly ledger: RunLedger;
  private readonly budgets: BudgetWatch;
  private readonly stalls: StallWatch;
  private readonly chats = new ChatClaims(() => this.live.values());
  private readonly ends: RunEnds;
  private readonly sending = new KeyedQueue<RunId>();

  constructor(ports: RunnerPorts) {
    this.ports = { ...ports, twoWay: { ...ports, retry: (what, act) => this.ledger.retry(what, act) } };
    this.ledger = new RunLedger({
      ...ports,
      onDecided: ended => this.live.get(ended.id)?.decided.resolve(ended),
    });
    this.queue = new RunQueue({
      live: () => this.live.values(),
      places: machine =>
        machine === null ? ports.settings()['limits.concurrency'] : ports.machines.places(machine),
      start: entry => void this.launch(entry),
    });
    this.budgets = new BudgetWatch({
      ...ports,
      live: () => this.live.values(),
      stop: id => void this.stop(id, 'budget'),
      record: (run, body) => this.record(run, body),
    });
    this.ends = new RunEnds({
      ...ports,
      live: this.live,
      liveRuns: () => this.liveRuns(),
      ledger: this.ledger,
      budgets: this.budgets,
      enqueue: entry => this.enqueue(entry),
      pump: () => this.pump(),
    });
    this.outputWatch = watchOutput({
      ...ports,
      turns: () => [...this.live.values()].flatMap(({ turn, stop }) => (turn && stop === null ? [turn] : [])),
      onGrowth: runId => {
        const entry = this.live.get(runId);
        if (entry) entry.lastSignAt = ports.clock.monotonic();
      },
      onTooMuch: runId => this.stop(runId, 'output_limit'),
    });
    this.stalls = new StallWatch({
      ...ports,
      live: () => this.live.values(),
      stop: id => void this.stop(id, 'stall'),
      record: (run, body) => this.record(run, body),
    });
  }

  /**
   * Saves the squad and queues its runs. Afterwards every member is on disk and will be accounted for. `along` contains
   * a run that waits for the squad and other changes, which are committed in the same transaction.
   */
  async submit(plan: PlannedSquad, along?: { change: Change; awaiting: RunId }): Promise<void> {
    const { clock, settings } = this.ports;
    const { runs } = plan;
    await this.budgets.admit();
    const releaseChats = this.chats.claim(runs.flatMap(({ run }) => run.chatId ?? []));
    let takeBack = () => {};
    try {
      const { depth = 0, parentId = null } = runs[0]?.run ?? {};
      const asked = { count: runs.length, depth, callers: this.callers(parentId) };
      takeBack = this.spawnLimit.admit(asked, settings(), clock.monotonic());
      const admission = {
        starts: runs.length,
        maxStarts: settings()['limits.spawns_per_minute'],
        chats: runs.flatMap(({ run }) => run.chatId ?? []),
      };
      const write = (change?: Change) =>
        saveSquad(plan, this.ports, this.ledger, { events: [], ...change, admission });
      const entries = along
        ? await beginWaiting(this.live.get(along.awaiting), along.awaiting, row =>
            write({ ...along.change, runs: [row] }),
          )
        : await write();
      takeBack = () => {};
      for (const [i, entry] of entries.entries()) entry.earlyBaseline = runs[i]!.baseline;
      for (const entry of entries) this.live.set(entry.run.id, entry);
      for (const entry of entries) this.enqueue(entry);
      const queued = entries.filter(entry => this.queue.has(entry));
      for (const entry of queued) entry.earlyBaseline = null;
      const ids = (of: LiveRun[]) => of.map(({ run }) => run.id);
      await this.ports.store.recorded?.(ids(entries), ids(queued));
    } catch (thrown) {
      takeBack();
      throw thrown;
    } finally {
      releaseChats();
    }
  }

  /**
   * Takes a snapshot early if a run would start at once. For a queued run, changes by others before its start would
   * count as its own.
   */
  earlyBaseline(directory: string): Promise<Baseline> | null {
    return this.queue.free > 0 ? takeBaseline(directory, this.ports.workTree) : null;
  }

  /**
   * Command with which a person takes over the chat of a run. It runs in the sandbox of that run, because the agent
   * may have left anything in its HOME.
   */
  async confinedCommand(
    run: Run,
    engine: Engine,
    command: Command,
    env: Record<string, string>,
  ): Promise<Command> {
    const turn = { runId: run.id, number: run.turn };
    const inside = await confined({ run, material: { env } }, engine, turn, command, this.ports);
    const { sandbox } = inside;
    if (sandbox === null) return inside.command;
    return this.ports.executor.confined({ ...turn, ...inside, sandbox, cwd: run.directory });
  }

  sandboxProblem(network: NetworkAccess): Promise<SandboxProblem | null> {
    return this.ports.executor.sandboxProblem(network);
  }

  /** The run and its ancestors, if they have not ended. */
  private callers(id: RunId | null): Run[] {
    const run = id === null ? undefined : this.live.get(id)?.run;
    return run ? [run, ...this.callers(run.parentId)] : [];
  }

  /**
   * Throws the errors that `submit` would throw for that many runs, before anything is planned, so that a refusal is
   * cheap.
   */
  async admit(count: number, parent: RunIdentity | null): Promise<void> {
    const { clock, settings } = this.ports;
    await this.budgets.admit();
    const asked = { count, depth: parent ? parent.depth + 1 : 0, callers: this.callers(parent?.id ?? null) };
    this.spawnLimit.check(asked, settings(), clock.monotonic());
  }

  /**
   * Queues the next turn of a run that waits for a review. The turn continues the run's chat with this text, and
   * `change` is committed with it. False while the last turn is still running. `onTurnOver` then reports its end.
   */
  async resume(id: RunId, text: string, change: Change): Promise<boolean> {
    const entry = this.live.get(id);
    const refusal = await this.budgets.admit().catch(asSquadError);
    if (refusal && refusal.code !== 'BUDGET_EXCEEDED') throw refusal;
    if (refusal && entry?.isPaused && !entry.changing) {
      await this.ends.finish(entry, 'fail', { code: refusal.code, message: refusal.message }, null);
      return false;
    }
    const waiting = requireReview(entry, id);
    const begin = async () => {
      const messages = await this.ends.messagesFor(waiting);
      const receipts = await this.ends.receipts(id, messages, 'next_turn');
      return {
        text: [text, ...messages.map(promptOf)].join('\n\n'),
        change: { ...change, events: [...change.events, ...receipts] },
      };
    };
    const isQueued = await queueNextTurn(waiting, begin, this.ports, this.ledger);
    if (isQueued) this.enqueue(waiting);
    return isQueued;
  }

  /** Ends a run that waits for a review. False while it has a running turn. */
  async endWaiting(id: RunId, step: 'complete' | 'abandon', change: Change): Promise<boolean> {
    const entry = this.live.get(id);
    await entry?.changing;
    if (!entry?.isPaused) return false;
    await this.ends.finish(entry, step, null, null, change);
    return true;
  }

  /**
   * Sends a message to the agent of a run, in the running turn or in the next one. Null if the run has ended.
   * `interrupts` first stops the agent's current work, if the agent can read messages during its turn.
   */
  async tell(
    id: RunId,
    told: Told,
    interrupts: boolean,
    along: (delivery: 'in_turn' | 'queued') => NewEvent[] = () => [],
  ): Promise<'in_turn' | 'queued' | null> {
    const entry = this.live.get(id);
    // Waits while the turn is ending or the next one is being queued. After that, the run has ended or has another
    // turn.
    while (entry && this.live.has(id) && (entry.isEnding || entry.changing))
      await (entry.isEnding ? entry.turnOver.promise : entry.changing);
    if (!entry || !this.live.has(id)) return null;
    entry.mayHaveMessages = true;
    const telling = tellRun(entry, told, interrupts, this.ledger, along);
    entry.telling = Promise.allSettled([entry.telling, telling]);
    const delivery = await telling;
    this.ends.wake(entry);
    return delivery;
  }

  /**
   * Sends a message of an agent to a run, or to the client that started its own run (null). A message that the agent
   * repeats in its turn is not sent again. Throws MESSAGE_LIMIT.
   */
  send(from: RunId, to: RunId | null, text: string): Promise<Sent> {
    return this.sending.run(from, async () => {
      const sender = this.live.get(from)?.run;
      if (!sender) return { id: randomUUID(), delivery: 'undelivered' };
      const before = await sentBefore(sender, to, text, this.ports.store);
      if (before) return before;
      const id = randomUUID();
      const sent = (delivery: Sent['delivery']) => [
        this.ledger.event(sender, { type: 'run.sent', id, to, text, delivery }),
      ];
      const told = { id, text, by: runName(sender), from };
      const delivery = to === null ? 'client' : await this.tell(to, told, false, sent);
      if (delivery === null || to === null)
        await this.ledger.commit({ events: sent(delivery ?? 'undelivered') });
      return { id, delivery: delivery ?? 'undelivered' };
    });
  }

  /** True if the agent of the run can get messages and be interrupted during its turn. */
  isFed(id: RunId): boolean {
    return (this.live.get(id)?.twoWay ?? null) !== null;
  }

  /** The run with this id. Null if it has ended. Ended runs are in the store. */
  current(id: RunId): Run | null {
    return this.live.get(id)?.run ?? null;
  }

  /** Adds a note to the run's result. The same note is added only once. */
  note(id: RunId, text: string): void {
    const notes = this.live.get(id)?.run.notes;
    if (notes && !notes.includes(text)) notes.push(text);
  }

  /** Usage of the run so far. */
  usageOf(id: RunId): Usage | null {
    const entry = this.live.get(id);
    return entry ? this.budgets.usageOf(entry) : null;
  }

  /** Milliseconds that the run's turn has left. Null if it has no turn. */
  timeLeft(id: RunId): number | null {
    const entry = this.live.get(id);
    return entry?.turn ? entry.timeLeft(this.ports.clock) : null;
  }

  liveRuns(): Run[] {
    return [...this.live.values()].map(entry => entry.run);
  }

  /** How long the run has been silent. Null if it was active recently. */
  silenceOf(id: RunId): Silence | null {
    return this.stalls.of(id);
  }

  /** True if the run was asked to stop and has not ended yet. */
  isStopping(id: RunId): boolean {
    return (this.live.get(id)?.stop ?? null) !== null;
  }

  get busy(): boolean {
    return this.live.size > 0;
  }

  /** Resolves when the run has ended and its end is on disk, or when the signal fires. */
  async untilEnded(id: RunId, signal: AbortSignal): Promise<void> {
    const entry = this.live.get(id);
    if (!entry || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = () => resolve();
    signal.addEventListener('abort', stop, { once: true });
    await Promise.race([entry.ended.promise, promise]);
    signal.removeEventListener('abort', stop);
  }

  /**
   * Like `untilEnded`, for a caller who only needs the answer, which is in files. Waits only briefly for a locked
   * database. Returns the ended run if its end is not on disk yet.
   */
  async untilAnswered(id: RunId, signal: AbortSignal): Promise<Run | null> {
    const onDisk = this.untilEnded(id, signal).then(() => null);
    const decided = this.live.get(id)?.decided.promise.then(async ended => {
      await waitBrieflyForWrite(onDisk);
      return ended;
    });
    return Promise.race([onDisk, decided ?? null]);
  }

  /**
   * Releases the slot of a run that waits for other runs, so that they can start. The run gets its slot back at once
   * afterwards. With `awaited` the run's agent gets the result of that run, if it has ended.
   */
  async whileWaiting<T>(id: RunId, wait: () => Promise<T>, awaited?: RunId): Promise<T> {
    const entry = this.live.get(id);
    if (!entry) return wait();
    entry.waits++;
    this.pump();
    try {
      const result = await wait();
      if (awaited !== undefined && (result != null || !this.live.has(awaited))) entry.seenEnds.add(awaited);
      return result;
    } finally {
      entry.waits--;
    }
  }

  /** Money that a run may still spend on runs that it starts. Null if no budget limits it. */
  remainingBudget(id: RunId): Promise<number | null> {
    const spentBy = (run: Run) => (this.live.has(run.id) ? this.usageOf(run.id) : run.usage)?.costUsd ?? 0;
    return remainingBudget(id, { store: this.ports.store, spentBy });
  }

  /**
   * Requests a stop. Returns false if there is nothing left to stop. Resolves when the request and its author are on
   * disk. With `isSoft` the hub first asks the agent to end its turn, if the agent's engine supports that.
   */
  async stop(id: RunId, reason: StopReason, by: Canceller | null = null, isSoft = false): Promise<boolean> {
    const entry = this.live.get(id);
    const turn = entry?.turnNumber;
    await entry?.changing;
    // The turn is just ending. It may end the run, or leave it waiting for a review.
    while (entry?.isEnding && this.live.has(id)) await entry.turnOver.promise;
    if (!entry || isEnd(entry.run.status) || !this.live.has(id)) return false;
    // A limit of a turn, such as its timeout, does not apply to later turns.
    if (TURN_LIMITS.includes(reason) && (entry.isPaused || entry.turnNumber !== turn)) return false;
    if (entry.stop === null) {
      entry.stop = reason;
      entry.stopAskedAt = this.ports.clock.monotonic();
      if (entry.turn) entry.turn.stop = reason;
      if (by && reason === 'cancel') entry.run.notes.push(cancelNote(by, entry.run));
      // The request is on disk before the first signal, so that a later reader of the exit record knows that Squad
      // stopped the run.
      const change = {
        turns: entry.turn ? [{ ...entry.turn }] : [],
        events: [
          this.ledger.event(entry.run, {
            type: 'run.stopping' as const,
            reason,
            ...(by !== null && { by: by.name }),
          }),
        ],
      };
      await this.ports.store
        .commit(change)
        .catch(thrown => this.ports.warn(`Stopping ${id} could not be recorded`, thrown));
    }
    // A pending change may be about to continue the run. After the stop request the run does not continue.
    await entry.changing;
    if (this.queue.remove(entry) || entry.isPaused) await this.ends.endUnstarted(entry, reason);
    else {
      entry.starting.abort();
      const { process, twoWay } = entry;
      const stop = () => process?.stop(this.ports.settings()['stop.grace_ms']);
      if (!isSoft || !(await twoWay?.interrupt())) stop();
      else setTimeout(stop, SOFT_STOP_MS).unref();
    }
    return true;
  }

  /** Counts starts of an earlier hub. This method and the next six are for the recovery. */
  recall(starts: readonly number[]): void {
    this.spawnLimit.recall(starts);
  }

  /** Takes over a run that never started. It starts with the next `pump`, and its files are read then. */
  requeue(run: Run): void {
    const entry = new LiveRun(run, null, null);
    entry.mayHaveMessages = true;
    this.live.set(run.id, entry);
    this.queue.add(entry);
  }

  /** Takes over a run whose agent is running. */
  async adopt(entry: LiveRun, process: LiveTurn, startedAt: number): Promise<void> {
    const { files, clock } = this.ports;
    await this.takeIn(entry, process.pid, startedAt);
    const turn = { runId: entry.run.id, number: entry.turnNumber };
    const [seen, wroteAt] = await Promise.all([files.size(turn, 'stdout'), files.wroteAt(turn)]);
    entry.lastSignAt = wroteAt === null ? null : monotonicOf(clock, wroteAt);
    await this.resumeTwoWay(entry);
    this.watch(entry, process, seen);
  }

  private async resumeTwoWay(entry: LiveRun): Promise<void> {
    const { run, engine, turnNumber: number } = entry;
    if (!engine.driver) return;
    const turn = { runId: run.id, number };
    const driver = engine.driver(await driverStart(run, turn, this.ports.files));
    entry.twoWay = await TwoWayTurn.resume(driver, run, turn, this.ports.twoWay);
  }

  /** Takes over a run whose turn ended while there was no hub. */
  async settle(entry: LiveRun, end: TurnEnd, startedAt: number): Promise<void> {
    const { files, clock } = this.ports;
    await this.takeIn(entry, null, startedAt);
    if (isSubagentCall(entry.run)) entry.run.notes.push(LOST_CALLER_NOTE);
    await this.resumeTwoWay(entry);
    entry.twoWay?.end();
    entry.follow(files, clock, messagesOnly(entry, this.ports), Number.POSITIVE_INFINITY);
    await this.ends.turnEnded(entry, end);
  }

  /** Takes over a run that waits for a review or for its child runs, and has no turn. */
  park(entry: LiveRun): void {
    this.live.set(entry.run.id, entry);
    entry.mayHaveMessages = true;
    entry.pause();
  }

  /** Ends a run whose result cannot be read any more. */
  async lose(run: Run, error: RunError): Promise<void> {
    const { store, clock } = this.ports;
    const turn = (await store.turns(run.id)).at(-1);
    const turns = turn && turn.endedAt === null ? [{ ...turn, endedAt: clock.now() }] : [];
    const events = await this.ends.missed(run, () => true);
    await this.ledger.ended(run, 'lose', error, { turns, events }, null, null);
    // The run may already be in memory, if recovery gave up on it late.
    const entry = this.live.get(run.id);
    if (entry) this.ends.forget(entry);
  }

  /** Ends a run that was asked to stop while it had no turn. */
  async endStopped(run: Run, reason: StopReason): Promise<void> {
    const events = await this.ends.missed(run, () => true);
    await this.ledger.ended(run, stepOfUnstarted(reason), null, { events }, null, null);
  }

  /** Continues runs of an earlier hub whose child runs ended while there was no hub. */
  wakeAll(): void {
    for (const entry of this.live.values()) this.ends.wake(entry);
  }

  /** Starts queued runs. Also called when the limit was raised. */
  pump(): void {
    this.queue.pump();
  }

  /** Releases timers and files. Agents keep running, and the next hub finds them. */
  close(): void {
    this.ends.close();
    this.queue.close();
    this.ledger.close();
    this.outputWatch.close();
    this.stalls.close();
    this.budgets.close();
    for (const entry of this.live.values()) entry.release();
  }

  private async takeIn(entry: LiveRun, pid: number | null, startedAt: number): Promise<void> {
    this.live.set(entry.run.id, entry);
    entry.mayHaveMessages = true;
    entry.isActive = true;
    // The earlier hub may have died between starting the agent and recording the start.
    if (entry.run.status === 'queued') await this.ledger.started(entry, pid, startedAt);
  }

  private enqueue(entry: LiveRun): void {
    this.queue.add(entry);
    if (isSubagentCall(entry.run)) this.atDeadline(entry);
    this.pump();
  }

  private async launch(entry: LiveRun): Promise<void> {
    try {
      const process = await startTurn(entry, this.ports, this.ledger, chat => this.chats.refuseBusy(chat));
      if (process) this.watch(entry, process, 0);
      else await this.ends.finish(entry, stepOfUnstarted(entry.stop), null, null);
    } catch (thrown) {
      const error = asSquadError(thrown);
      if (entry.stop !== null) return await this.ends.finish(entry, stepOfUnstarted(entry.stop), null, null);
      const step = error.code === 'LOST' ? 'lose' : 'fail';
      await this.ends.finish(entry, step, { code: error.code, message: error.message }, null);
    }
  }

  private watch(entry: LiveRun, process: LiveTurn, seen: number): void {
    const { clock, files } = this.ports;
    entry.process = process;
    entry.follow(
      files,
      clock,
      {
        activity: body => this.record(entry.run, { ...body, ...this.budgets.newlySpent(entry) }),
        usage: () => this.budgets.onUsage(entry),
        message: (message, place) => this.ports.traces.take(entry.run, message, place),
        line: (line, isCut) => entry.twoWay?.read(line, isCut, process),
      },
      seen,
    );
    this.atDeadline(entry);
    if (entry.stop !== null) process.stop(this.ports.settings()['stop.grace_ms']);
    void process.ended.then(end => this.ends.turnEnded(entry, end));
  }

  private atDeadline(entry: LiveRun): void {
    entry.atDeadline(this.ports.clock, () => void this.stop(entry.run.id, 'timeout'));
  }

  /** Records an event without waiting for the write. */
  private record(run: Run, body: EventBody): void {
    const { store, warn } = this.ports;
    void store
      .commit({ events: [this.ledger.event(run, body)] })
      .catch(thrown => warn(`An event of ${run.id} was not recorded`, thrown));
  }
}

const LOST_CALLER_NOTE =
  'The hub ended while this call was running: its caller got HUB_RESTARTED instead of the answer.';

/** Time for an agent to end its turn by itself. Agents usually need less than a second. */
const SOFT_STOP_MS = 10_000;

const TURN_LIMITS: readonly StopReason[] = ['timeout', 'stall', 'output_limit'];
