import type { HubSettings } from '../schema/config.ts';
import { SquadError } from '../schema/error.ts';

export const MINUTE_MS = 60_000;

/** One fuse for the user, across every client: how deep, and how many starts in a minute. Running at once is a queue, not a refusal. */
export class SpawnFuse {
  /** By the monotonic clock. */
  private starts: number[] = [];

  /** Starts that an earlier hub let through, on the monotonic clock of this one. */
  recall(times: readonly number[]): void {
    this.starts.push(...times);
  }

  /** Throws unless `count` more runs may be asked for now, by the monotonic clock. */
  admit(count: number, depth: number, limits: HubSettings, now: number): void {
    const deepest = limits['limits.depth'];
    if (depth > deepest)
      throw new SquadError(
        'DEPTH_LIMIT',
        `This would be a run ${depth} levels deep; limits.depth is ${deepest}`,
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
        `${count} more ${count === 1 ? 'run' : 'runs'} would make ${this.starts.length + count} in a minute; limits.spawns_per_minute is ${rate}`,
        {
          suggestions: [
            `Wait a minute, start fewer at once, or raise it with \`squad config set limits.spawns_per_minute ${this.starts.length + count}\`. Nothing was started.`,
          ],
        },
      );
    for (let i = 0; i < count; i++) this.starts.push(now);
  }
}
