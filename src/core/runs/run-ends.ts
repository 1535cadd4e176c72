import { KeyedQueue } from '../../base/keyed-queue.ts';
import { asSquadError } from '../../schema/error.ts';
import type { NewEvent } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { EndStatus, Run, RunError, StopReason } from '../../schema/run.ts';
import type { Traces } from '../conversations/recorder.ts';
import { overBudget } from '../cost/budget.ts';
import type { BudgetWatch } from '../cost/budget-watch.ts';
import type { EvidencePorts } from '../evidence/evidence.ts';
import type { Machines } from '../ports/machines.ts';
import type { Change } from '../ports/store.ts';
import type { TurnEnd } from '../ports/turns.ts';
import { CONTINUE_TEXT, isTooLate, LATE_ERROR, limitWait, waitNote } from './limit-wait.ts';
import type { LiveRun } from './live-run.ts';
import { afterTakeover, type NextEnginePorts, nextEngine, takeoverPrompt } from './next-engine.ts';
import { type Outcome, outcomeInReview } from './outcome.ts';
import { RETRY_MS, type RunLedger } from './run-ledger.ts';
import { nextStatus, type RunTransition, stepOfUnstarted } from './run-state.ts';
import {
  endText,
  newsOf,
  noMoreWakes,
  notesForClient,
  promptOf,
  receipts,
  type Sent,
  type Told,
  undelivered,
  type Waiting,
  waitingMessages,
} from './tell.ts';
import { closeTurn, evidenceOfTurn, readFinalOutput, type TurnEndPorts } from './turn-end.ts';
import {
  lostAttempt,
  nextAttempt,
  prepareNextTurn,
  queueNextTurn,
  secondStart,
  writeNextAttempt,
  writePause,
} from './waiting-run.ts';

export interface RunEndPorts extends TurnEndPorts, EvidencePorts, Pick<NextEnginePorts, 'engines'> {
  traces: Pick<Traces, 'take' | 'turnOver' | 'remarks'>;
  machines: Pick<Machines, 'choose' | 'clis'>;
  /**
   * Called when the turn of a run that waits for a review has ended and its end is on disk. The caller does not wait
   * for it.
   */
  onTurnOver(run: Run): void;
  /** All runs in memory. */
  live: Pick<Map<RunId, LiveRun>, 'delete' | 'get'>;
  ledger: RunLedger;
  budgets: BudgetWatch;
  /** Queues the next turn of a run. */
  enqueue(entry: LiveRun): void;
  /** Starts queued runs, after a slot became free. */
  pump(): void;
}

/**
 * Decides what follows the end of a turn: the end of the run, a review, another turn that delivers messages, a wait for
 * child runs, or another attempt on a new machine.
 */
export class RunEnds {
  private readonly ports: RunEndPorts;
  private readonly waking = new KeyedQueue<RunId>();
  private isClosed = false;

  constructor(ports: RunEndPorts) {
    this.ports = ports;
  }

  /** Agents keep running. Turns that end from now on are left to the next hub. */
  close(): void {
    this.isClosed = true;
  }

  /** Ends a run that was asked to stop while it had no turn. */
  endUnstarted(entry: LiveRun, reason: StopReason): Promise<void> {
    if (reason !== 'budget' || !entry.overBudget)
      return this.finish(entry, stepOfUnstarted(reason), null, null);
    const error = { code: 'BUDGET_EXCEEDED', message: overBudget(entry.overBudget) };
    return this.finish(entry, 'fail', error, null);
  }

  async turnEnded(entry: LiveRun, end: TurnEnd): Promise<void> {
    entry.twoWay?.end();
    entry.stopTimer();
    await entry.changing;
    if (this.isClosed) return;
    const outcome = await this.decideOutcome(entry, end).catch(thrown => {
      if (this.isClosed) throw thrown;
      // A bug must not leave a run marked as running forever after its agent has ended.
      this.ports.warn(`The outcome of ${entry.run.id} could not be determined`, thrown);
      const { code, message } = asSquadError(thrown);
      return { step: 'fail' as const, error: { code, message } };
    });
    const next = entry.run.status === 'running' ? this.nextAttempt(entry, outcome, end) : null;
    if (next) return this.startAgain(entry, next, end);
    const inReview = await outcomeInReview(entry, outcome, this.ports);
    const messages = await this.messagesFor(entry);
    if (inReview === 'waits') {
      await this.queueMessages(
        entry.run,
        messages.filter(({ delivery }) => delivery === 'in_turn'),
      );
      return this.pause(entry, outcome, end);
    }
    if (inReview.step === 'complete' && inReview.error === null) {
      const { begin, isIdle } = await this.nextTurn(entry, messages).catch((thrown): Next => {
        this.ports.warn(`${entry.run.id} could not be continued`, thrown);
        return {};
      });
      if (begin) return this.continue(entry, begin, end);
      if (isIdle) return this.idle(entry, end);
    }
    if (inReview.error?.code === LIMITED && inReview.step === 'fail' && this.mayGoOn(entry)) {
      const { parkMs } = entry.run.options;
      if (await this.handOver(entry, messages, end)) return;
      const why = parkMs === null ? null : await this.park(entry, parkMs, messages, end);
      if (why === null && parkMs !== null) return;
      if (why !== null) inReview.error.message += ` ${why}`;
    }
    await this.finish(entry, inReview.step, inReview.error, end);
  }

  /** Lets the next engine of the role's list continue the task, with another attempt. False if there is none. */
  private async handOver(entry: LiveRun, messages: Waiting[], end: TurnEnd): Promise<boolean> {
    const { run, turn, report } = entry;
    const { files, ledger, budgets } = this.ports;
    const found = await nextEngine(entry, this.ports).catch(thrown => {
      this.ports.warn(`Another engine for ${run.id} could not be found`, thrown);
      return null;
    });
    if (!found) return false;
    run.usage = budgets.usageOf(entry);
    run.evidence = await this.evidence(entry, 'error', null, end);
    run.notes.push(...report.usageNotes(entry.chatTotals));
    const next = afterTakeover(run, found);
    const texts = messages.map(promptOf);
    const prompt = await takeoverPrompt(run, found.engine, { said: report.answer, messages: texts }, files);
    const { promptFile } = await files.prepare({ runId: run.id, number: next.turn }, prompt);
    // Each engine gets only the login variables that it needs itself.
    await files.saveEnvironment(run.id, found.env);
    if (turn) Object.assign(turn, { endedAt: end.endedAt, exitCode: end.exitCode, leftovers: end.leftovers });
    const limited = { type: 'run.limited' as const, turn: run.turn, engine: run.engine, until: null };
    await ledger.startedAgain(entry, next, [
      ledger.event(run, { ...limited, next: next.engine }),
      ...(await this.receipts(run.id, messages, 'next_turn')),
    ]);
    entry.pause();
    entry.replaceEngine(found);
    entry.material = { prompt, promptFile, env: found.env };
    this.ports.enqueue(entry);
    return true;
  }

  /** False if a budget ends the run. */
  private mayGoOn({ overBudget: spending, run }: LiveRun): boolean {
    return !spending || (!run.options.stopAtBudget && spending.scope === 'run');
  }

  /**
   * Ends the turn but not the run, which continues when the usage limit of its engine is reset. Returns why the run must
   * end instead, or null.
   */
  private async park(
    entry: LiveRun,
    parkMs: number,
    messages: Waiting[],
    end: TurnEnd,
  ): Promise<string | null> {
    const { run } = entry;
    const { limit } = run.options;
    const reset = entry.report.end?.reset ?? null;
    const wait = limitWait({ reset, endedAt: end.endedAt, parkMs, state: limit });
    if ('why' in wait) return wait.why;
    const { until } = wait;
    await this.queueMessages(
      run,
      messages.filter(({ delivery }) => delivery === 'in_turn'),
    );
    run.usage = this.ports.budgets.usageOf(entry);
    run.evidence = await this.evidence(entry, 'error', null, end);
    const waits = (limit?.waits ?? 0) + 1;
    const since = limit?.since ?? end.endedAt;
    run.options = { ...run.options, limit: { takeovers: limit?.takeovers ?? [], waits, since, until } };
    const limited = { type: 'run.limited' as const, turn: run.turn, engine: run.engine, until, next: null };
    const event = this.ports.ledger.event(run, limited);
    await writePause(entry, null, end, this.ports.ledger, 'await_limit', [event]);
    this.ports.pump();
    this.wake(entry);
    return null;
  }

  /**
   * Decides how a run continues after a completed turn: with another turn if messages or ends of child runs are
   * waiting, or idle if such may still come.
   */
  private async nextTurn(entry: LiveRun, messages: Waiting[]): Promise<Next> {
    const { run, overBudget: spending, seenEnds } = entry;
    if (messages.length === 0 && run.options.wake === null) return {};
    if (spending && (run.options.stopAtBudget || spending.scope !== 'run')) return {};
    const { store, files, settings } = this.ports;
    const { ended, hasLive, wakes } = await newsOf(run, store);
    const children = ended.filter(({ id }) => !seenEnds.has(id));
    const isFromUser = messages.some(({ from }) => from === undefined);
    const limit = settings()['limits.wakes'];
    if (wakes >= limit && !isFromUser) {
      if (messages.length + children.length > 0 || hasLive) run.notes.push(noMoreWakes(limit));
      return {};
    }
    if (messages.length + children.length === 0) return { isIdle: hasLive };
    if (await this.ports.budgets.admit().catch(asSquadError)) return {};
    const ends = await Promise.all(children.map(child => endText(child, files)));
    const ids = children.map(({ id }) => id);
    const woken = {
      type: 'run.woken' as const,
      turn: run.turn + 1,
      messages: messages.length,
      children: ids,
    };
    const queued = messages
      .filter(({ delivery }) => delivery === 'in_turn')
      .map(told => this.queued(run, told));
    const events = [
      ...queued,
      ...(await this.receipts(run.id, messages, 'next_turn')),
      ...(isFromUser && ids.length === 0 ? [] : [this.ports.ledger.event(run, woken)]),
    ];
    return { begin: { text: [...ends, ...messages.map(promptOf)].join('\n\n'), change: { events } } };
  }

  /** Ends the turn but not the run: a message, or the end of a run that it started, begins its next turn. */
  private async idle(entry: LiveRun, end: TurnEnd): Promise<void> {
    const { run } = entry;
    run.usage = this.ports.budgets.usageOf(entry);
    run.evidence = await this.evidence(entry, 'completed', null, end);
    await writePause(entry, null, end, this.ports.ledger, 'await_children');
    this.ports.pump();
    this.wake(entry);
  }

  /**
   * Continues a run that waits for its child runs, if it has a message or one of them has ended. A run that waits for a
   * usage limit continues when the limit is reset.
   */
  wake(entry: LiveRun | undefined): void {
    const status = entry?.run.status;
    if (!entry || this.isClosed) return;
    if (status === 'waiting_children') this.wakeBy(entry, () => this.wakeNow(entry));
    if (status !== 'waiting_limit') return;
    const until = entry.run.options.limit?.until ?? 0;
    entry.atTime(this.ports.clock, until, () => this.wakeBy(entry, () => this.limitIsReset(entry)));
  }

  private wakeBy(entry: LiveRun, act: () => Promise<void>): void {
    const { id } = entry.run;
    void this.waking.run(id, act).catch(thrown => {
      this.ports.warn(`${id} could not be continued; trying again`, thrown);
      setTimeout(() => this.wake(entry), RETRY_MS).unref();
    });
  }

  private async limitIsReset(entry: LiveRun): Promise<void> {
    await entry.changing;
    const { run } = entry;
    if (this.isClosed || run.status !== 'waiting_limit' || !entry.isPaused || entry.stop !== null) return;
    const refusal = await this.ports.budgets.admit().catch(asSquadError);
    if (refusal && refusal.code !== 'BUDGET_EXCEEDED') throw refusal;
    const error = isTooLate(run.options, this.ports.clock.now()) ? LATE_ERROR : refusal;
    if (error) {
      const { code, message } = error;
      return this.finish(entry, 'fail', { code, message }, null);
    }
    const begin = async () => {
      const messages = await this.messagesFor(entry);
      const events = await this.receipts(run.id, messages, 'next_turn');
      return { text: [CONTINUE_TEXT, ...messages.map(promptOf)].join('\n\n'), change: { events } };
    };
    if (await queueNextTurn(entry, begin, this.ports, this.ports.ledger)) this.ports.enqueue(entry);
  }

  private async wakeNow(entry: LiveRun): Promise<void> {
    await entry.changing;
    if (this.isClosed || entry.run.status !== 'waiting_children') return;
    let isOver = false;
    const begin = async () => {
      const next = await this.nextTurn(entry, await this.messagesFor(entry));
      isOver = !next.begin && !next.isIdle;
      return next.begin ?? null;
    };
    const isQueued = await queueNextTurn(entry, begin, this.ports, this.ports.ledger);
    if (isQueued) this.ports.enqueue(entry);
    else if (isOver && entry.isPaused && entry.stop === null)
      await this.finish(entry, 'complete', null, null);
  }

  receipts(to: RunId, messages: readonly Told[], delivery: Sent['delivery']): Promise<NewEvent[]> {
    const run = async (id: RunId) => this.ports.live.get(id)?.run ?? this.ports.store.run(id);
    return receipts(to, messages, delivery, run, this.ports.ledger).catch(thrown => {
      this.ports.warn(`The senders of the messages for ${to} could not be read`, thrown);
      return [];
    });
  }

  /** Notes the messages that the run ends without, and returns the receipts for their senders. */
  async missed(run: Run, hasTaken: (id: string) => boolean): Promise<NewEvent[]> {
    const messages = await waitingMessages(run, this.ports.store, hasTaken).catch(thrown => {
      this.ports.warn(`The messages for ${run.id} could not be read`, thrown);
      return [];
    });
    if (messages.length === 0) return [];
    run.notes.push(undelivered(messages.length));
    const note = `A message to ${run.id} was not delivered, because that run ended first.`;
    for (const { from } of messages) {
      const sender = from === undefined ? undefined : this.ports.live.get(from)?.run;
      if (sender && !sender.notes.includes(note)) sender.notes.push(note);
    }
    return this.receipts(run.id, messages, 'undelivered');
  }

  /** Returns the messages that the agent has not read yet. */
  async messagesFor(entry: LiveRun | undefined): Promise<Waiting[]> {
    await entry?.telling;
    if (!entry?.mayHaveMessages) return [];
    const { run, twoWay } = entry;
    return waitingMessages(run, this.ports.store, id => twoWay?.hasTaken(id) ?? true).catch(thrown => {
      this.ports.warn(`The messages for ${run.id} could not be read`, thrown);
      return [];
    });
  }

  /** Records that these messages wait again, because the turn that should have delivered them has ended. */
  private async queueMessages(run: Run, messages: Waiting[]): Promise<void> {
    if (messages.length === 0) return;
    await this.ports.ledger.commit({ events: messages.map(told => this.queued(run, told)) });
  }

  private queued(run: Run, told: Waiting): NewEvent {
    return this.ports.ledger.event(run, { ...told, type: 'run.told', delivery: 'queued' });
  }

  /** Ends the turn and queues the next turn, which begins with this text. */
  private async continue(entry: LiveRun, { text, change }: NextTurn, end: TurnEnd): Promise<void> {
    const { run, turn } = entry;
    run.usage = this.ports.budgets.usageOf(entry);
    run.evidence = await this.evidence(entry, 'completed', null, end);
    const material = await prepareNextTurn(run, text, this.ports.files);
    if (turn) Object.assign(turn, { endedAt: end.endedAt, exitCode: end.exitCode, leftovers: end.leftovers });
    run.notes.push(...entry.report.usageNotes(entry.chatTotals));
    await this.ports.ledger.continued(entry, end, entry.totalsOfChat, change.events);
    entry.pause();
    entry.material = material;
    this.ports.enqueue(entry);
  }

  private nextAttempt(entry: LiveRun, outcome: Outcome, end: TurnEnd): Run | null {
    const { run } = entry;
    if (outcome.step !== 'lose') return secondStart(entry, outcome);
    const next = end.canTakeOver ? nextAttempt(run, this.ports.machines) : null;
    return next && { ...next, notes: [...run.notes, lostAttempt(run, next, end)] };
  }

  private async startAgain(entry: LiveRun, next: Run, end: TurnEnd): Promise<void> {
    entry.run.usage = next.usage = this.ports.budgets.usageOf(entry);
    const messages = await this.messagesFor(entry);
    await writeNextAttempt(entry, next, end, this.ports.files, this.ports.ledger);
    await this.queueMessages(entry.run, messages);
    this.ports.enqueue(entry);
  }

  /** Ends the turn but not the run: the run waits for its review without a slot. */
  private async pause(entry: LiveRun, { error }: Outcome, end: TurnEnd): Promise<void> {
    const { run } = entry;
    run.usage = this.ports.budgets.usageOf(entry);
    run.evidence = await this.evidence(entry, 'completed', error, end);
    await writePause(entry, error, end, this.ports.ledger);
    this.ports.pump();
    this.ports.onTurnOver(run);
  }

  private evidence(entry: LiveRun, status: EndStatus, error: RunError | null, end: TurnEnd) {
    return evidenceOfTurn(entry, { status, error, end }, this.ports);
  }

  private async decideOutcome(entry: LiveRun, end: TurnEnd): Promise<Outcome> {
    await readFinalOutput(entry, end, this.ports);
    entry.isEnding = true;
    await this.ports.budgets
      .atEnd(entry)
      .catch(thrown => this.ports.warn(`The cost of ${entry.run.id} could not be checked`, thrown));
    const { run } = entry;
    const isIdle =
      run.options.wake !== null &&
      (await newsOf(run, this.ports.store)
        .then(({ hasLive }) => hasLive)
        .catch(() => false)); // an error is ignored here, because it is reported when the next turn is determined
    return closeTurn(entry, end, this.ports, this.ports.ledger, !isIdle);
  }

  /** Ends a run. No other code ends a run that is in memory, except the recovery of lost runs. */
  async finish(
    entry: LiveRun,
    step: RunTransition,
    error: RunError | null,
    end: TurnEnd | null,
    along: Change = { events: [] },
  ): Promise<void> {
    const { run, turn } = entry;
    entry.isEnding = true;
    entry.release();
    if (turn && end)
      Object.assign(turn, { endedAt: end.endedAt, exitCode: end.exitCode, leftovers: end.leftovers });
    run.usage = this.ports.budgets.usageOf(entry);
    const status = nextStatus(run.status, step) as EndStatus;
    if (end) run.evidence = await this.evidence(entry, status, error, end);
    run.notes.push(...entry.report.usageNotes(entry.chatTotals));
    run.notes.push(...this.ports.traces.remarks(run));
    const waits = run.options.limit?.waits ?? 0;
    if (waits > 0) run.notes.push(waitNote(waits));
    await entry.telling;
    const { twoWay, mayHaveMessages } = entry;
    const missed = mayHaveMessages ? await this.missed(run, id => twoWay?.hasTaken(id) ?? true) : [];
    if (run.options.messages.includes('client')) run.notes.push(...(await this.notesForClient(run.id)));
    const change = { ...along, turns: turn ? [{ ...turn }] : [], events: [...along.events, ...missed] };
    await this.ports.ledger.ended(run, step, error, change, end, entry.totalsOfChat, entry.chats);
    this.forget(entry);
  }

  /** Removes an ended run from memory and gives its slot to the next run. */
  forget(entry: LiveRun): void {
    entry.release();
    this.ports.live.delete(entry.run.id);
    entry.ended.resolve();
    entry.turnOver.resolve();
    entry.isActive = false;
    this.ports.pump();
    const { parentId } = entry.run;
    if (parentId !== null) this.wake(this.ports.live.get(parentId));
  }

  private notesForClient(id: RunId): Promise<string[]> {
    return notesForClient(id, this.ports.store).catch(thrown => {
      this.ports.warn(`The messages of ${id} could not be read`, thrown);
      return [];
    });
  }
}

const LIMITED = 'ENGINE_RATE_LIMITED';

/** Text of a run's next turn, and the changes that are committed with it. */
interface NextTurn {
  text: string;
  change: Change;
}

/** How a run continues after a completed turn. The run ends if no field is set. */
interface Next {
  begin?: NextTurn;
  isIdle?: boolean;
}
