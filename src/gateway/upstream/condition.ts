import type { Clock } from '../../base/clock.ts';
import type { UpstreamHealth, UpstreamStatus } from '../../core/ports/gateway.ts';
import { wallTimeOf } from '../../core/runs/clock-times.ts';
import type { FaultKind } from '../../wire/upstream/link.ts';
import { createRetrySchedule, type RetrySchedule } from '../retry-schedule.ts';
import type { Timers } from '../timers.ts';

const STABLE_MS = 300_000;

export interface ConditionOptions {
  cooldownMs(): number;
  clock: Clock;
  timers: Timers;
  /** The time has come for another try. */
  onRetry(): void;
}

/** How one server is doing, since when, and when it is tried again. */
export class Condition {
  readonly #options: ConditionOptions;
  readonly #schedule: RetrySchedule;
  #cancelTimer: () => void = () => {};
  health: UpstreamHealth = 'idle';
  since: number;
  /** On the monotonic clock. */
  #retryAt: number | null = null;
  /** What stands against it now: in words, secrets left out. */
  fault: string | null = null;
  /** The words may be the server's own: this is not. */
  faultKind: FaultKind | null = null;
  /** The last there was, also when it is over. */
  lastFault: UpstreamStatus['lastFault'] = null;
  failures = 0;

  constructor(options: ConditionOptions) {
    this.#options = options;
    this.#schedule = createRetrySchedule(() => options.cooldownMs());
    this.since = options.clock.now();
  }

  /** When it is tried again, by the clock as it is set now; null: not by itself. */
  get retryAt(): number | null {
    return this.#retryAt === null ? null : wallTimeOf(this.#options.clock, this.#retryAt);
  }

  idle(): void {
    this.#enter('idle');
  }

  starting(): void {
    this.#enter('starting');
  }

  up(): void {
    this.fault = null;
    this.faultKind = null;
    this.#enter('up');
    this.#cancelTimer = this.#options.timers.after(STABLE_MS, () => this.#schedule.forgive());
  }

  /** A call ran out of time. The first retry is under way: a probe over the connection there is. */
  checking(fault: string): void {
    this.#fault(fault, 'timeout');
    this.#enter('checking');
    this.#retryAt = this.#options.clock.monotonic();
  }

  failed(
    fault: string,
    {
      kind,
      isFinal,
      wishMs,
      hasFailedCall,
    }: {
      kind: FaultKind;
      isFinal: boolean;
      /** The delay that the server asked for. */
      wishMs: number | null;
      /** At any time since it was first started. */
      hasFailedCall: boolean;
    },
  ): void {
    this.#fault(fault, kind);
    if (isFinal) {
      this.#enter('unusable');
      return;
    }
    const { health, delayMs } = this.#schedule.failed(wishMs, hasFailedCall);
    this.#enter(health);
    this.#retryAt = this.#options.clock.monotonic() + delayMs;
    this.#cancelTimer = this.#options.timers.after(delayMs, this.#options.onRetry);
  }

  /** What was given up may be tried once more. */
  reconsider(): void {
    if (this.health !== 'unusable') return;
    this.#schedule.forgive();
    this.#enter('idle');
  }

  #fault(message: string, kind: FaultKind): void {
    // What is being checked is counted already.
    if (this.health !== 'checking') this.failures += 1;
    this.fault = message;
    this.faultKind = kind;
    this.lastFault = { message, at: this.#options.clock.now() };
  }

  #enter(health: UpstreamHealth): void {
    this.#cancelTimer();
    this.#cancelTimer = () => {};
    this.health = health;
    this.since = this.#options.clock.now();
    this.#retryAt = null;
  }
}
