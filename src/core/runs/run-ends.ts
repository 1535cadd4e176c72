import { asSquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { EndStatus, Run, RunError, StopReason } from '../../schema/run.ts';
import type { Traces } from '../conversations/recorder.ts';
import { overBudget } from '../cost/budget.ts';
import type { BudgetWatch } from '../cost/budget-watch.ts';
import type { EvidencePorts } from '../evidence/evidence.ts';
import type { Machines } from '../ports/machines.ts';
import type { Change } from '../ports/store.ts';
import type { TurnEnd } from '../ports/turns.ts';
import type { LiveRun } from './live-run.ts';
import { type Outcome, outcomeInReview } from './outcome.ts';
import type { RunLedger } from './run-ledger.ts';
import { nextStatus, type RunTransition, stepOfUnstarted } from './run-state.ts';
import { undelivered, type Waiting, waitingMessages } from './tell.ts';
import { closeTurn, evidenceOfTurn, readFinalOutput, type TurnEndPorts } from './turn-end.ts';
import { nextAttempt, prepareNextTurn, writeNextAttempt, writePause } from './waiting-run.ts';

export interface RunEndPorts extends TurnEndPorts, EvidencePorts {
  traces: Pick<Traces, 'take' | 'turnOver' | 'remarks'>;
  machines: Pick<Machines, 'choose'>;
  /**
   * Called when the turn of a run that waits for a review has ended and its end is on disk. The caller does not wait
   * for it.
   */
  onTurnOver(run: Run): void;
  /** The runs in memory. */
  live: Pick<Map<RunId, LiveRun>, 'delete'>;
  ledger: RunLedger;
  budgets: BudgetWatch;
  /** Queues the next turn of a run. */
  enqueue(entry: LiveRun): void;
  /** Starts queued runs, after a slot became free. */
  pump(): void;
}

/**
 * Decides what follows the end of a turn: the end of the run, a review, another turn that delivers messages, or another
 * attempt on a new machine.
 */
export class RunEnds {
  private readonly ports: RunEndPorts;
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
    const next =
      outcome.step === 'lose' && end.canTakeOver && entry.run.status === 'running'
        ? nextAttempt(entry.run, this.ports.machines)
        : null;
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
    if (messages.length > 0 && inReview.step === 'complete' && inReview.error === null) {
      const isRefused = await this.ports.budgets.admit().catch(asSquadError);
      const text = messages.map(told => told.text).join('\n\n');
      if (!isRefused) return this.continue(entry, text, end);
    }
    if (messages.length > 0) entry.run.notes.push(undelivered(messages.length));
    await this.finish(entry, inReview.step, inReview.error, end);
  }

  /** Returns the messages that the agent has not read yet. */
  async messagesFor(entry: LiveRun | undefined): Promise<Waiting[]> {
    await entry?.telling;
    if (!entry?.mayHaveMessages) return [];
    const { run, twoWay } = entry;
    return waitingMessages(run.id, this.ports.store, id => twoWay?.hasTaken(id) ?? true).catch(thrown => {
      this.ports.warn(`The messages for ${run.id} could not be read`, thrown);
      return [];
    });
  }

  /** Records that these messages are still waiting, because the turn that should have delivered them has ended. */
  private async queueMessages(run: Run, messages: Waiting[]): Promise<void> {
    if (messages.length === 0) return;
    const events = messages.map(told =>
      this.ports.ledger.event(run, { ...told, type: 'run.told', delivery: 'queued' }),
    );
    await this.ports.ledger.commit({ events });
  }

  /** Ends the turn and queues the next turn, which gives the agent these messages. */
  private async continue(entry: LiveRun, text: string, end: TurnEnd): Promise<void> {
    const { run, turn } = entry;
    run.usage = this.ports.budgets.usageOf(entry);
    run.evidence = await this.evidence(entry, 'completed', null, end);
    const material = await prepareNextTurn(run, text, this.ports.files);
    if (turn) Object.assign(turn, { endedAt: end.endedAt, exitCode: end.exitCode, leftovers: end.leftovers });
    run.notes.push(...entry.report.usageNotes(entry.chatTotals));
    await this.ports.ledger.continued(entry, end, entry.totalsOfChat);
    entry.pause();
    entry.material = material;
    this.ports.enqueue(entry);
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
    return closeTurn(entry, end, this.ports, this.ports.ledger);
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
    const change = { ...along, turns: turn ? [{ ...turn }] : [] };
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
  }
}
