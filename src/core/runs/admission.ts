import type { Clock } from '../../base/clock.ts';
import type { HubSettings } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';
import type { Run } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import type { LiveRun } from './live-run.ts';
import { chatBusy } from './plan-run.ts';

interface QueuePorts {
  live(): Iterable<LiveRun>;
  /** How many runs may have a slot at once. */
  places(): number;
  start(entry: LiveRun): void;
}

/** Runs that wait for a slot, in the order of their requests. */
export class RunQueue {
  private readonly ports: QueuePorts;
  private readonly waiting: LiveRun[] = [];
  private closed = false;

  constructor(ports: QueuePorts) {
    this.ports = ports;
  }

  /** Starts with the next `pump`. */
  add(entry: LiveRun): void {
    this.waiting.push(entry);
  }

  /** False: it was not waiting. */
  remove(entry: LiveRun): boolean {
    const at = this.waiting.indexOf(entry);
    if (at >= 0) this.waiting.splice(at, 1);
    return at >= 0;
  }

  has(entry: LiveRun): boolean {
    return this.waiting.includes(entry);
  }

  /** Slots that no run has or waits for. */
  get free(): number {
    return Math.max(0, this.ports.places() - this.taken - this.waiting.length);
  }

  /** Starts as many runs as there are slots. */
  pump(): void {
    while (!this.closed && this.waiting.length > 0 && this.taken < this.ports.places()) {
      const entry = this.waiting.shift()!;
      entry.isActive = true;
      this.ports.start(entry);
    }
  }

  close(): void {
    this.closed = true;
  }

  private get taken(): number {
    let count = 0;
    for (const { isActive, waits } of this.ports.live()) if (isActive && waits === 0) count++;
    return count;
  }
}

/** Allows one run at a time on a chat. Running runs hold their chats; runs that are being saved have theirs claimed. */
export class ChatClaims {
  private readonly live: () => Iterable<LiveRun>;
  private readonly claimed = new Set<string>();

  constructor(live: () => Iterable<LiveRun>) {
    this.live = live;
  }

  /** Throws CHAT_BUSY. */
  refuseBusy(chat: string): void {
    if (this.claimed.has(chat)) throw chatBusy(chat, 'another call');
    for (const { chats, run } of this.live()) if (chats.has(chat)) throw chatBusy(chat, `run ${run.id}`);
  }

  /** Claims all of them or none, synchronously, so that no other call can come in between. Returns a function that releases them. */
  claim(chats: string[]): () => void {
    for (const chat of chats) this.refuseBusy(chat);
    for (const chat of chats) this.claimed.add(chat);
    return () => {
      for (const chat of chats) this.claimed.delete(chat);
    };
  }
}

export const MINUTE_MS = 60_000;

interface AskedStarts {
  count: number;
  depth: number;
  /** The calling run and its ancestors. */
  callers?: readonly Run[];
}

/** Limits how deep runs are nested and how many start in a minute, for all clients together. Too many at once are queued, not refused. */
export class SpawnLimit {
  /** On the monotonic clock. */
  private starts: number[] = [];

  /** Starts that an earlier hub admitted, on the monotonic clock of this one. */
  recall(times: readonly number[]): void {
    this.starts.push(...times);
  }

  /** Counts the starts, or throws as `check` does. */
  admit(asked: AskedStarts, limits: HubSettings, now: number): void {
    this.check(asked, limits, now);
    for (let i = 0; i < asked.count; i++) this.starts.push(now);
  }

  /** Throws unless that many more runs may start now. `now` is on the monotonic clock. */
  check({ count, depth, callers = [] }: AskedStarts, limits: HubSettings, now: number): void {
    const lineage = callers.map(run => `${runName(run)} ${run.id}`).toReversed();
    const askedBy = lineage.length > 0 ? `; asked for by ${lineage.join(' → ')}` : '';
    const deepest = limits['limits.depth'];
    if (depth > deepest)
      throw new SquadError(
        'DEPTH_LIMIT',
        `This run would be nested ${depth} levels deep; the limit is ${deepest} (limits.depth)${askedBy}`,
        {
          suggestions: [
            `Raise the limit with \`squad config set limits.depth ${depth}\`, or let the calling agent do the work itself.`,
          ],
        },
      );
    this.starts = this.starts.filter(at => at > now - MINUTE_MS);
    const rate = limits['limits.spawns_per_minute'];
    if (this.starts.length + count > rate)
      throw new SquadError(
        'SPAWN_RATE_LIMIT',
        `${count} more ${count === 1 ? 'run' : 'runs'} would make ${this.starts.length + count} starts in a minute; the limit is ${rate} (limits.spawns_per_minute)${askedBy}`,
        {
          suggestions: [
            `Wait a minute, start fewer at once, or raise the limit with \`squad config set limits.spawns_per_minute ${this.starts.length + count}\`. Nothing was started.`,
          ],
        },
      );
  }
}

/** A stored time on the monotonic clock. A time in the future was stored before the clock was set back and counts as now. */
export const monotonicOf = (clock: Clock, at: number): number =>
  clock.monotonic() - Math.max(0, clock.now() - at);

/** A monotonic time as the wall clock would show it if it had never been set. */
export const wallTimeOf = (clock: Clock, monotonic: number): number =>
  clock.now() - (clock.monotonic() - monotonic);
