import type { Store } from '../../core/ports/store.ts';
import { BoardPages } from '../../core/runs/board.ts';
import { LastActivity } from '../../core/runs/last-activity.ts';
import type { RunId } from '../../schema/ids.ts';
import type { InboxItem } from '../../schema/inbox.ts';
import { isEnd, type Run, type Usage } from '../../schema/run.ts';
import { openForTest } from '../../store/fixtures/open-for-test.ts';
import { aRun, aSquad } from '../../store/fixtures/sample-rows.ts';
import { tempFile } from '../../store/fixtures/temp-file.ts';
import { dispatch } from '../dispatch.ts';
import type { Call, Operation, UserServices } from '../operation.ts';

/** A hub with a real database, for tests of lists of runs. The test changes the runs. */
export class BoardHub {
  readonly store: Store;
  readonly squad = aSquad({ createdAt: 1 });
  readonly usages = new Map<RunId, Usage>();
  readonly settings: Record<string, number> = {};
  now = 1_700_000_000_000;
  private readonly live = new Map<RunId, Run>();
  private readonly asks: InboxItem[] = [];
  readonly services: UserServices;

  private constructor(store: Store) {
    this.store = store;
    const runner = {
      liveRuns: () => [...this.live.values()],
      current: (id: RunId) => this.live.get(id) ?? null,
      usageOf: (id: RunId) => this.usages.get(id) ?? null,
      silenceOf: () => null,
      isStopping: () => false,
    };
    const activity = new LastActivity(store, id => this.live.has(id));
    store.onEvents(events => activity.take(events));
    this.services = {
      ...{ store, runner, activity, boards: new BoardPages() },
      clock: { now: () => this.now, monotonic: () => this.now },
      branchStates: { of: async () => new Map() },
      settings: { all: () => this.settings },
      inbox: { openOf: (id: RunId) => this.asks.filter(({ runId }) => runId === id) },
      hub: {
        reportBug: (_: string, thrown: unknown) => {
          throw thrown;
        },
      },
    } as unknown as UserServices;
  }

  static async open(): Promise<BoardHub> {
    const hub = new BoardHub(await openForTest(tempFile()));
    await hub.store.commit({ squads: [hub.squad], events: [] });
    return hub;
  }

  async ask<T>(operation: Operation, input: object = {}): Promise<T> {
    const call = { services: this.services, caller: {} } as unknown as Call<UserServices>;
    return (await dispatch(operation, input, call)) as T;
  }

  run(some: Partial<Run> = {}): Run {
    const endedAt = some.status && isEnd(some.status) ? this.now - 1 : null;
    return aRun(this.squad, { createdAt: this.now - 2, startedAt: this.now - 2, endedAt, ...some });
  }

  /** Stores runs, and adds runs that have not ended to the runner. */
  async put(...runs: Run[]): Promise<void> {
    await this.store.commit({ runs, events: [] });
    for (const run of runs) {
      if (isEnd(run.status)) this.live.delete(run.id);
      else this.live.set(run.id, run);
    }
  }

  /**
   * Changes a run in the same order as the runner: first on disk, then in memory. An ended run is removed from the
   * runner last.
   */
  async change(run: Run, change: Partial<Run>): Promise<void> {
    const next = { ...run, ...change };
    await this.store.commit({ runs: [next], events: [] });
    Object.assign(run, next);
    if (isEnd(next.status)) this.live.delete(run.id);
  }

  asking(run: Run, owner: InboxItem['owner'] = 'user'): void {
    this.asks.push({
      ...{ id: 'ask_0000000000', runId: run.id, squadId: run.squadId, kind: 'question', source: null },
      ...{ question: 'Which\none?', details: null, choices: ['a', 'b'], fields: [], owner, default: null },
      ...{ createdAt: this.now, deadlineAt: this.now, state: 'open', answer: null, answeredBy: null },
      answeredAt: null,
    } as unknown as InboxItem);
  }
}
