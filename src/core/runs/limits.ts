import type { HubSettings } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';
import type { Run } from '../../schema/run.ts';
import { runName } from '../../schema/run-name.ts';

export const MINUTE_MS = 60_000;

export interface AskedStarts {
  count: number;
  depth: number;
  /** The run that asks, and those above it. */
  callers?: readonly Run[];
}

/** One fuse for the user, across every client: how deep, and how many starts in a minute. Running at once is a queue, not a refusal. */
export class SpawnFuse {
  /** By the monotonic clock. */
  private starts: number[] = [];

  /** Starts that an earlier hub let through, on the monotonic clock of this one. */
  recall(times: readonly number[]): void {
    this.starts.push(...times);
  }

  /** Counts the starts, or throws as `check` does. */
  admit(asked: AskedStarts, limits: HubSettings, now: number): void {
    this.check(asked, limits, now);
    for (let i = 0; i < asked.count; i++) this.starts.push(now);
  }

  /** Throws unless that many more runs may be started now, by the monotonic clock. */
  check({ count, depth, callers = [] }: AskedStarts, limits: HubSettings, now: number): void {
    const lineage = callers.map(run => `${runName(run)} ${run.id}`).toReversed();
    const askedBy = lineage.length > 0 ? `; asked for by ${lineage.join(' → ')}` : '';
    const deepest = limits['limits.depth'];
    if (depth > deepest)
      throw new SquadError(
        'DEPTH_LIMIT',
        `This would be a run ${depth} levels deep; limits.depth is ${deepest}${askedBy}`,
        {
          suggestions: [
            `Raise it with \`squad config set limits.depth ${depth}\`, or let the parent do the work itself.`,
          ],
        },
      );
    this.starts = this.starts.filter(at => at > now - MINUTE_MS);
    const rate = limits['limits.spawns_per_minute'];
    if (this.starts.length + count > rate)
      throw new SquadError(
        'SPAWN_RATE_LIMIT',
        `${count} more ${count === 1 ? 'run' : 'runs'} would make ${this.starts.length + count} in a minute; limits.spawns_per_minute is ${rate}${askedBy}`,
        {
          suggestions: [
            `Wait a minute, start fewer at once, or raise it with \`squad config set limits.spawns_per_minute ${this.starts.length + count}\`. Nothing was started.`,
          ],
        },
      );
  }
}
