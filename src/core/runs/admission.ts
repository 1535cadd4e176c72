import type { Clock } from '../../base/clock.ts';
import type { HubSettings } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';
import type { Run } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import type { LiveRun } from './live-run.ts';
import { chatBusy } from './plan-run.ts';

interface QueuePorts {
  live(): Iterable<LiveRun>;
  /** Limit of runs that may have a slot at once on a machine. Null means the hub's own machine. */
  places(machine: string | null): number;
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

  /** Adds a run. The next `pump` starts it if there is a free slot. */
  add(entry: LiveRun): void {
    this.waiting.push(entry);
  }

  /** Returns false if the run was not waiting. */
  remove(entry: LiveRun): boolean {
    const at = this.waiting.indexOf(entry);
    if (at >= 0) this.waiting.splice(at, 1);
    return at >= 0;
  }

  has(entry: LiveRun): boolean {
    return this.waiting.includes(entry);
  }

  /** Slots of the hub's own machine that no run has or is waiting for. */
  get free(): number {
    const waiting = this.waiting.filter(entry => machineOf(entry) === null);
    return Math.max(0, this.ports.places(null) - this.taken(null) - waiting.length);
  }

  /** Starts waiting runs while there are free slots. A machine without a free slot delays only its own runs. */
  pump(): void {
    const full = new Set<string | null>();
    for (let at = 0; !this.closed && at < this.waiting.length; ) {
      const entry = this.waiting[at]!;
      const machine = machineOf(entry);
      if (full.has(machine) || this.taken(machine) >= this.ports.places(machine)) {
        full.add(machine);
        at++;
        continue;
      }
      this.waiting.splice(at, 1);
      entry.isActive = true;
      this.ports.start(entry);
    }
  }

  close(): void {
    this.closed = true;
  }

  private taken(machine: string | null): number {
    let count = 0;
    for (const entry of this.ports.live())
      if (entry.isActive && entry.waits === 0 && machineOf(entry) === machine) count++;
    return count;
  }
}

const machineOf = ({ run }: LiveRun): string | null => run.options.machine;

/** Allows one run at a time on a chat. A running run holds its chat. A run that is being saved has claimed it. */
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

  /**
   * Claims all of these chats or none. Returns a function that releases them. Synchronous, so that no other call can
   * come in between.
   */
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

/**
 * Limits how deep runs are nested and how many start per minute, for all clients together. Runs beyond the limit of
 * concurrent runs are queued, not refused.
 */
export class SpawnLimit {
  /** Times at which runs were started, on the monotonic clock. */
  private starts: number[] = [];

  /** Adds starts that an earlier hub admitted, as times on this hub's monotonic clock. */
  recall(times: readonly number[]): void {
    this.starts.push(...times);
  }

  /**
   * Counts the starts. Throws the same errors as `check`. Returns a function that takes them back, for runs that could
   * not be saved.
   */
  admit(asked: AskedStarts, limits: HubSettings, now: number): () => void {
    this.check(asked, limits, now);
    const added = Array.from({ length: asked.count }, () => now);
    this.starts.push(...added);
    return () => {
      for (const at of added) {
        const place = this.starts.indexOf(at);
        if (place >= 0) this.starts.splice(place, 1);
      }
    };
  }

  /** Throws unless `count` more runs may start now. `now` is on the monotonic clock. */
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
    const starts = this.starts.length + count;
    if (starts > rate) throw tooManyStarts(count, starts, rate, askedBy);
  }
}

/** The error for `count` more runs, with which a minute would have `starts` starts. */
export const tooManyStarts = (count: number, starts: number, rate: number, askedBy = ''): SquadError =>
  new SquadError(
    'SPAWN_RATE_LIMIT',
    `${count} more ${count === 1 ? 'run' : 'runs'} would make ${starts} starts in a minute; the limit is ${rate} (limits.spawns_per_minute)${askedBy}`,
    {
      suggestions: [
        `Wait a minute, start fewer at once, or raise the limit with \`squad config set limits.spawns_per_minute ${starts}\`. Nothing was started.`,
      ],
    },
  );

/**
 * Converts a stored time to the monotonic clock. A time in the future was stored before the clock was set back and
 * counts as now.
 */
export const monotonicOf = (clock: Clock, at: number): number =>
  clock.monotonic() - Math.max(0, clock.now() - at);

/** Converts a monotonic time to the wall clock, as if the wall clock had never been changed. */
export const wallTimeOf = (clock: Clock, monotonic: number): number =>
  clock.now() - (clock.monotonic() - monotonic);
