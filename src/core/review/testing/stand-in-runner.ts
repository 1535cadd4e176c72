import type { RunId } from '../../../schema/ids.ts';
import { isEnd, type Run, type StopReason } from '../../../schema/run.ts';
import type { Change, Store } from '../../ports/store.ts';
import type { PlannedSquad } from '../../runs/plan-run.ts';
import { nextStatus, type RunTransition } from '../../runs/run-state.ts';
import type { ReviewPorts } from '../ports.ts';

/** Runner without processes. Rows and statuses of runs are real, and the test decides when runs start and end. */
export class StandInRunner implements Pick<ReviewPorts['runner'], keyof ReviewPorts['runner']> {
  private readonly store: Store;
  private readonly live = new Map<RunId, Run>();
  /** Runs with a running turn. */
  private readonly running = new Set<RunId>();
  /** First message of each later turn, by run. */
  readonly told = new Map<RunId, string[]>();
  readonly stopped: [RunId, StopReason][] = [];
  onEnd: (run: Run) => void = () => {};
  onTurnOver: (run: Run) => void = () => {};
  /** Thrown by the next `submit`, before anything is written. */
  refusal: Error | null = null;

  constructor(store: Store) {
    this.store = store;
  }

  /** Adds a running run, or one that a hub finds at its start. */
  takeIn(run: Run, isRunning = true): Run {
    const own = { ...run };
    this.live.set(own.id, own);
    if (isRunning) this.running.add(own.id);
    return own;
  }

  async submit({ squad, runs }: PlannedSquad, along?: { change: Change; awaiting: RunId }): Promise<void> {
    if (this.refusal) throw this.refusal;
    const started = runs.map(({ run }) => ({ ...run, status: nextStatus(run.status, 'start') }));
    const coder = along && this.live.get(along.awaiting);
    const waiting = coder && { ...coder, status: nextStatus(coder.status, 'await_review') };
    await this.store.commit({
      ...along?.change,
      squads: [squad],
      runs: [...started, ...(waiting ? [waiting] : [])],
      events: along?.change.events ?? [],
    });
    if (coder && waiting) Object.assign(coder, waiting);
    for (const run of started) this.takeIn(run);
  }

  async resume(id: RunId, text: string, change: Change): Promise<boolean> {
    if (this.running.has(id)) return false;
    const run = this.live.get(id)!;
    const next = { ...run, turn: run.turn + 1, status: nextStatus(run.status, 'resume') };
    await this.store.commit({ ...change, runs: [next] });
    Object.assign(run, next, { status: nextStatus(next.status, 'start') });
    this.told.set(id, [...(this.told.get(id) ?? []), text]);
    this.running.add(id);
    return true;
  }

  async endWaiting(id: RunId, step: 'complete' | 'abandon', change: Change): Promise<boolean> {
    if (this.running.has(id) || !this.live.has(id)) return false;
    await this.end(id, step, change);
    return true;
  }

  async stop(id: RunId, reason: StopReason): Promise<boolean> {
    if (!this.current(id)) return false;
    this.stopped.push([id, reason]);
    await this.end(id, reason === 'terminate' || reason === 'abandon' ? reason : 'cancel');
    return true;
  }

  note(id: RunId, text: string): void {
    this.live.get(id)?.notes.push(text);
  }

  current(id: RunId): Run | null {
    return this.live.get(id) ?? null;
  }

  liveRuns(): Run[] {
    return [...this.live.values()];
  }

  /** Ends the turn of a run. The run ends too, unless it waits for a review. */
  async turnEnds(id: RunId, step: RunTransition = 'complete', more: Partial<Run> = {}): Promise<void> {
    this.running.delete(id);
    const run = this.live.get(id)!;
    if (run.status === 'waiting_review') this.onTurnOver(run);
    else await this.end(id, step, { events: [] }, more);
  }

  private async end(
    id: RunId,
    step: RunTransition,
    change: Change = { events: [] },
    more: Partial<Run> = {},
  ): Promise<void> {
    const run = this.live.get(id);
    if (!run || isEnd(run.status)) return;
    Object.assign(run, { ...more, status: nextStatus(run.status, step) });
    await this.store.commit({ ...change, runs: [{ ...run }] });
    this.onEnd(run);
    this.live.delete(id);
    this.running.delete(id);
  }
}
