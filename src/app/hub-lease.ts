import { setTimeout as pause } from 'node:timers/promises';
import type { HubLeases, HubState } from '../core/ports/store.ts';
import type { Executor, FoundTurn, TurnEnd, TurnRef } from '../core/ports/turns.ts';
import {
  bootSeconds,
  hasLapsed,
  shortenHubLease,
  turnFolder,
  writeHubLease,
} from '../process/turns/turn-record.ts';

const BEAT_MS = 2_500;

/** How long agents run on after the last heartbeat of their hub. A restart of PostgreSQL takes less. */
const LEASE_MS = 15_000;

/**
 * Silence after which another hub takes over. The agents are gone by then: the wrapper checks its lease every 2 s, gives
 * an agent 3 s to end, and needs up to 5 s to kill and record it on a busy machine. The rest is reserve.
 */
const TAKEOVER_MS = 28_000;

/** A hub that cannot read the files of the lost hub waits longer, so that one that can is faster. */
const READERS_FIRST_MS = 2_000;

/**
 * How long a hub must have sent heartbeats before it takes over from others. After an outage of the database, all hubs
 * have old heartbeats, and each needs a moment to connect again.
 */
const SETTLED_MS = 10_000;

/** Time that must be left of the lease to start an agent, because a start can take seconds on a busy machine. */
const START_MS = 7_000;

/** End of a lease that does not end, in seconds of the boot clock. */
const NEVER = 9_999_999_999;

interface LeasePorts {
  leases: HubLeases;
  runsDir: string;
  warn(message: string, cause?: unknown): void;
}

interface LeaseEvents {
  /** Called when this hub must stop, because another one has its place. */
  onLost(): void;
  /** Whether this hub can read the files of that one. */
  canRead(hub: HubState): boolean;
  /** False if nothing could be taken over yet. Called again after an error, also if that hub is back meanwhile. */
  takeOver(hub: HubState, of: { silentMs: number; all: boolean }): Promise<boolean>;
}

/**
 * Lease of this hub in the database it shares with others. Heartbeats renew it, and with it the lease file of the local
 * turns. So the agents of a hub that died, hangs or cannot reach the database end before another hub takes over. A hub
 * without others lets its agents run on without it, as a hub with SQLite does.
 */
export class HubLease {
  private readonly ports: LeasePorts;
  private readonly closing = new AbortController();
  /** End of the lease, in seconds of the boot clock, which counts the time in which the machine slept. */
  private until = 0;
  private isLeased = true;
  private isLost = false;
  private beaten = Promise.withResolvers<void>();
  private lastBeatAt = Number.NEGATIVE_INFINITY;
  private settledAt = Number.POSITIVE_INFINITY;
  private events: LeaseEvents | null = null;
  private takingOver: Promise<void> | null = null;
  /** Lost hubs from which this hub has taken what it can. */
  private readonly done = new Set<string>();
  /** Lost hubs whose takeover has begun and has not succeeded yet. */
  private readonly begun = new Set<string>();

  constructor(ports: LeasePorts) {
    this.ports = ports;
  }

  /** Resolves after the first heartbeat, which also renews the lease of agents of an earlier hub of this home. */
  async start(): Promise<void> {
    const hubs = await this.ports.leases.hubs();
    this.isLeased = hasOthers(hubs) || hubs.some(({ isOwn, leaseMs }) => isOwn && leaseMs !== null);
    await this.beat();
    void this.keepBeating();
  }

  serve(events: LeaseEvents): void {
    this.events = events;
    if (this.isLost) events.onLost();
  }

  close(): void {
    this.closing.abort();
  }

  /**
   * Resolves when this hub may start an agent: at once, or with the next heartbeat. Never resolves if the hub is closed or
   * has lost its place, so that it neither starts the agent nor records a failure.
   */
  async held(): Promise<void> {
    const isOver = () => bootSeconds() >= this.until - START_MS / 1_000;
    while (this.isLost || this.closing.signal.aborted || isOver()) await this.beaten.promise;
  }

  private async keepBeating(): Promise<void> {
    const { signal } = this.closing;
    for (let isFailing = false; !signal.aborted && !this.isLost; ) {
      await pause(BEAT_MS, null, { signal }).catch(() => {}); // closing
      if (signal.aborted) return;
      try {
        await this.beat();
        isFailing = false;
      } catch (thrown) {
        if (!isFailing) this.ports.warn('The heartbeat of this hub failed; trying again', thrown);
        isFailing = true;
      }
    }
  }

  private async beat(): Promise<void> {
    const { leases, runsDir } = this.ports;
    // The lease counts from before the heartbeat, so it ends here before it ends in the database.
    const sentAt = bootSeconds();
    const leasedUntil = sentAt + LEASE_MS / 1_000;
    const isKnown = this.isLeased;
    if (isKnown) {
      // Others may take over as soon as the database has this lease, so the agents get it first.
      this.until = Math.min(this.until, leasedUntil);
      shortenHubLease(runsDir, leasedUntil);
    }
    if (!(await leases.beat(isKnown ? LEASE_MS : null))) return this.lose();
    const hubs = await leases.hubs();
    this.isLeased = hasOthers(hubs);
    // The database must know first that the agents do not depend on heartbeats any more.
    this.until = this.isLeased || isKnown ? leasedUntil : NEVER;
    writeHubLease(runsDir, this.until);
    const now = bootSeconds();
    if (now - this.lastBeatAt > LEASE_MS / 1_000) this.settledAt = now + SETTLED_MS / 1_000;
    this.lastBeatAt = now;
    this.beaten.resolve();
    this.beaten = Promise.withResolvers();
    const { events } = this;
    if (!events || now < this.settledAt) return;
    this.takingOver ??= this.takeOverFrom(hubs, events)
      .catch(thrown => this.ports.warn('The runs of a lost hub could not be taken over', thrown))
      .finally(() => {
        this.takingOver = null;
      });
  }

  private lose(): void {
    this.isLost = true;
    this.events?.onLost();
  }

  private async takeOverFrom(hubs: HubState[], events: LeaseEvents): Promise<void> {
    for (const hub of hubs.filter(({ isOwn }) => !isOwn)) {
      const all = events.canRead(hub);
      const silentMs = TAKEOVER_MS + (all ? 0 : READERS_FIRST_MS);
      const isOver = hub.leaseMs !== null && hub.silentMs !== null && hub.silentMs > silentMs;
      if (!isOver) this.done.delete(hub.id);
      if (this.done.has(hub.id) || !(isOver || this.begun.has(hub.id))) continue;
      this.begun.add(hub.id);
      if (await events.takeOver(hub, { silentMs, all })) this.done.add(hub.id);
      this.begun.delete(hub.id);
    }
  }
}

/** Whether another hub can take over. */
const hasOthers = (hubs: readonly HubState[]): boolean =>
  hubs.some(({ isOwn, silentMs }) => !isOwn && silentMs !== null && silentMs < TAKEOVER_MS);

/** Makes local turns depend on the lease of the hub. */
export function leasedExecutor(executor: Executor, lease: HubLease, runsDir: string): Executor {
  const endOf = (turn: TurnRef, end: TurnEnd): TurnEnd => {
    if (!hasLapsed(turnFolder(runsDir, turn)) || end.exitCode === 0) return end;
    return { ...end, exitCode: null, spawnError: null, canTakeOver: true, lost: LAPSED };
  };
  return {
    ...executor,
    async start(turn, options) {
      await lease.held();
      const live = await executor.start(turn, options);
      return { ...live, ended: live.ended.then(end => endOf(turn, end)) };
    },
    async find(turn, options): Promise<FoundTurn> {
      const found = await executor.find(turn, options);
      if (found.state === 'never_started') return found;
      if (found.state === 'live')
        return { ...found, turn: { ...found.turn, ended: found.turn.ended.then(end => endOf(turn, end)) } };
      const end = endOf(turn, found.end);
      // The whole process tree is proven gone.
      return end.exitCode === null
        ? { ...found, state: 'gone', end: { ...end, canTakeOver: true } }
        : { ...found, end };
    },
  };
}

const LAPSED =
  'Its hub had ended, or could not reach the database, for so long that the agent had to end. Its output is kept.';
