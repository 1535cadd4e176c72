import type { Clock } from '../base/clock.ts';
import type { RunFiles } from '../core/ports/run-files.ts';
import type { Store } from '../core/ports/store.ts';
import { teamEntry, teamState } from '../core/team/state-files.ts';
import { answerSample } from '../operations/runs/run-result.ts';
import type { Event, EventBody } from '../schema/event.ts';
import type { Run } from '../schema/run.ts';
import { TeamLog } from '../workspace/team/team-log.ts';

const KEPT = new Set<EventBody['type']>(['run.started', 'run.ended']);
/**
 * Delay before the start of a run is written, so that a run that ends soon needs one write, and agents need not share
 * the processor with it.
 */
const START_DELAY_MS = 50;

interface TeamKeeperOptions {
  store: Store;
  clock: Clock;
  files: RunFiles;
  home: string;
  warn(message: string): void;
}

/** Writes starts and ends of runs into the team files of each workspace. */
export class TeamKeeper {
  private readonly store: Store;
  private readonly files: RunFiles;
  private readonly log: TeamLog;
  private written: Promise<void> = Promise.resolve();
  private waiting: Event[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor({ store, clock, files, home, warn }: TeamKeeperOptions) {
    this.store = store;
    this.files = files;
    this.log = new TeamLog({
      home,
      stateOf: workspace => teamState(store, clock, workspace),
      onError: (file, reason) => warn(`${file}: ${reason}`),
    });
  }

  take(events: readonly Event[]): void {
    const kept = events.filter(({ body }) => KEPT.has(body.type));
    if (kept.length === 0) return;
    this.waiting.push(...kept);
    if (kept.some(({ body }) => body.type === 'run.ended')) this.write();
    else this.timer ??= setTimeout(() => this.write(), START_DELAY_MS);
  }

  private write(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const kept = this.waiting.splice(0);
    if (kept.length > 0) this.written = this.written.then(() => this.keep(kept));
  }

  /** Settles when everything reported so far is in the files. */
  async flush(): Promise<void> {
    this.write();
    await this.written;
    await this.log.flush();
  }

  /** If the answer cannot be read, the line is written without it. */
  private async answerOf({ body }: Event, run: Run): Promise<string> {
    if (body.type !== 'run.ended') return '';
    return answerSample(this.files, run).then(
      ({ head }) => head,
      () => '',
    );
  }

  private async keep(events: Event[]): Promise<void> {
    for (const event of events) {
      const run = event.runId && (await this.store.run(event.runId).catch(() => null));
      const entry = run && teamEntry(event, run, await this.answerOf(event, run));
      if (entry) this.log.record(run.workspace, entry);
    }
  }
}
