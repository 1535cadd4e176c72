import type { Clock } from '../core/ports/clock.ts';
import type { Store } from '../core/ports/store.ts';
import { teamEntry, teamState } from '../core/team-state.ts';
import type { Event, EventBody } from '../schema/event.ts';
import { TeamLog } from '../workspace/team-log.ts';

const KEPT = new Set<EventBody['type']>(['run.started', 'run.ended']);

/** Keeps the team files of each workspace: starts and ends, as they are written down. */
export class TeamKeeper {
  private readonly store: Store;
  private readonly log: TeamLog;
  private written: Promise<void> = Promise.resolve();

  constructor(store: Store, clock: Clock, warn: (message: string) => void) {
    this.store = store;
    this.log = new TeamLog({
      stateOf: workspace => teamState(store, clock, workspace),
      onTrouble: (file, reason) => warn(`${file}: ${reason}`),
    });
  }

  take(events: readonly Event[]): void {
    const kept = events.filter(({ body }) => KEPT.has(body.type));
    if (kept.length > 0) this.written = this.written.then(() => this.keep(kept));
  }

  /** Settles when everything taken so far is in the files. */
  async flush(): Promise<void> {
    await this.written;
    await this.log.flush();
  }

  private async keep(events: Event[]): Promise<void> {
    for (const event of events) {
      const run = event.runId && (await this.store.run(event.runId).catch(() => null));
      const entry = run && teamEntry(event, run);
      if (entry) this.log.record(run.workspace, entry);
    }
  }
}
