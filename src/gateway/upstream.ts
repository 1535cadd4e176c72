import type { Clock } from '../core/ports/clock.ts';
import type { UpstreamHealth } from '../core/ports/gateway.ts';
import {
  type Json,
  type LinkEvents,
  type LinkRequest,
  UpstreamFault,
  type UpstreamLink,
} from '../wire/upstream/link.ts';
import type { Connected } from './connect.ts';
import { Departures } from './departures.ts';
import { LinkInUse } from './link-in-use.ts';
import { openInTime } from './open-in-time.ts';
import { unlessGivenUp } from './patience.ts';
import { createRetrySchedule, type RetrySchedule } from './retry-schedule.ts';
import type { StartLimit } from './start-limit.ts';
import type { Timers } from './timers.ts';
import { Unavailable } from './unavailable.ts';

const STABLE_MS = 300_000;
const LAST_WORDS = 300;

export interface UpstreamOptions {
  timeoutMs(): number;
  cooldownMs: number;
  open(events: LinkEvents, signal: AbortSignal): Promise<Connected>;
  /** Part of the start: what the server has is known before anybody calls it. */
  greet(link: UpstreamLink): Promise<void>;
  /** It is not there any more; what it offered goes with it. */
  onDown(): void;
  onNotification(method: string, params: Json): void;
  onRequest?: LinkEvents['onRequest'];
  isWanted(): boolean;
  redact(text: string): string;
  /** Whether trying again is of no use until somebody has changed something. */
  isFinal(fault: UpstreamFault): boolean;
  starts: StartLimit;
  clock: Clock;
  timers: Timers;
}

/** One connection to another server, started when it is needed and again when it was lost. */
export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #schedule: RetrySchedule;
  #health: UpstreamHealth = 'idle';
  #current: LinkInUse | null = null;
  #starting: Promise<LinkInUse> | null = null;
  readonly #departures = new Departures();
  readonly #stop = new AbortController();
  #cancelTimer: () => void = () => {};
  since: number;
  retryAt: number | null = null;
  /** In words, secrets left out. */
  fault: string | null = null;
  calls = 0;
  failures = 0;
  stray = 0;
  starts = 0;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.#schedule = createRetrySchedule(options.cooldownMs);
    this.since = options.clock.now();
  }

  get health(): UpstreamHealth {
    return this.#health;
  }

  get link(): Connected | null {
    return this.#current?.link ?? null;
  }

  /** Rejects with an UpstreamFault, or with Unavailable when it was not even asked. */
  request(method: string, params: Json, options: Omit<LinkRequest, 'timeoutMs'>): Promise<Json> {
    this.calls += 1;
    const asked = { ...options, timeoutMs: this.#options.timeoutMs() };
    const current = this.#current;
    if (current !== null) return current.request(method, params, asked);
    return this.#started(options.signal).then(connection => connection.request(method, params, asked));
  }

  /** Settles when it can be asked. Rejects as `request` does. */
  async up(signal: AbortSignal): Promise<void> {
    if (this.#current === null) await this.#started(signal);
  }

  /** Gets it going if nothing stands against it. Settles when it is up, or is known not to be; never rejects. */
  async start(): Promise<void> {
    if (this.#mayStart()) await this.#begin().catch(() => {});
  }

  /** Something was changed that may have been the reason: what was given up is tried again. */
  reconsider(): void {
    if (this.#health !== 'unusable') return;
    this.#schedule.forgive();
    this.#enter('idle');
  }

  /** For good. Calls under way are let finish, then it ends. Settles when it is gone. */
  async retire(): Promise<void> {
    const current = this.#current;
    const starting = this.#starting;
    this.#withdraw();
    if (current !== null) this.#departures.leave(current);
    await starting?.catch(() => {});
    await this.#departures.done();
  }

  /** For good, and calls under way fail. Settles when it is gone. */
  async close(): Promise<void> {
    const retired = this.retire();
    this.#departures.hurry();
    await retired;
  }

  async #started(signal: AbortSignal | undefined): Promise<LinkInUse> {
    if (!this.#mayStart()) throw this.#unavailable();
    const { timers, timeoutMs } = this.#options;
    return await unlessGivenUp(this.#begin(), timers, timeoutMs(), signal, late => {
      if (!late) return new UpstreamFault('cancelled', 'the caller took it back');
      return new Unavailable(`it was not ready within ${timeoutMs() / 1000} s`, this.#health, null);
    });
  }

  #mayStart(): boolean {
    return (
      !this.#stop.signal.aborted &&
      (this.#health === 'idle' || this.#health === 'starting' || this.#health === 'up')
    );
  }

  /** However many ask for it, it is started once. */
  #begin(): Promise<LinkInUse> {
    if (this.#current !== null) return Promise.resolve(this.#current);
    this.#starting ??= this.#startOnce();
    return this.#starting;
  }

  async #startOnce(): Promise<LinkInUse> {
    this.#enter('starting');
    const { signal } = this.#stop;
    try {
      const link = await this.#options.starts.run(() => this.#open(signal));
      if (signal.aborted) {
        this.#departures.close(link);
        throw signal.reason;
      }
      this.#starting = null;
      return this.#arrived(link);
    } catch (error) {
      if (!signal.aborted) {
        this.#starting = null;
        this.#failed(error instanceof UpstreamFault ? error : new UpstreamFault('start', String(error)));
      }
      throw this.#unavailable();
    }
  }

  #open(stopped: AbortSignal): Promise<Connected> {
    const { open, greet, timers, timeoutMs } = this.#options;
    return openInTime({
      open: signal => open(this.#events(), signal),
      greet,
      discard: link => this.#departures.close(link),
      stopped,
      timeoutMs: timeoutMs(),
      timers,
    });
  }

  #events(): LinkEvents {
    return {
      onNotification: (method, params) => this.#options.onNotification(method, params),
      onRequest: this.#options.onRequest,
      onStray: () => {
        this.stray += 1;
      },
    };
  }

  #arrived(link: Connected): LinkInUse {
    const connection = new LinkInUse(link, fault => this.#lost(connection, fault));
    this.#current = connection;
    this.starts += 1;
    this.fault = null;
    this.#enter('up');
    this.#cancelTimer = this.#options.timers.after(STABLE_MS, () => this.#schedule.forgive());
    void link.closed.then(fault => this.#lost(connection, fault));
    return connection;
  }

  #lost(connection: LinkInUse, fault: UpstreamFault): void {
    if (this.#current !== connection) return;
    this.#current = null;
    this.#failed(fault, fault.kind === 'exit' ? lastWords(connection.link.stderrTail()) : '');
    this.#departures.leave(connection);
  }

  #failed(fault: UpstreamFault, lastWords = ''): void {
    this.failures += 1;
    this.fault = this.#options.redact(fault.message) + lastWords;
    if (this.#options.isFinal(fault)) this.#enter('unusable');
    else {
      const { health, delayMs } = this.#schedule.failed(fault.retryAfterMs);
      this.#enter(health);
      this.retryAt = this.since + delayMs;
      this.#cancelTimer = this.#options.timers.after(delayMs, () => this.#retry());
    }
    this.#options.onDown();
  }

  #retry(): void {
    this.#enter('idle');
    if (this.#options.isWanted()) void this.start();
  }

  #withdraw(): void {
    this.#stop.abort(new UpstreamFault('cancelled', 'it is not needed any more'));
    this.#starting = null;
    this.#current = null;
    this.#enter('idle');
  }

  #enter(health: UpstreamHealth): void {
    this.#cancelTimer();
    this.#cancelTimer = () => {};
    this.#health = health;
    this.since = this.#options.clock.now();
    this.retryAt = null;
  }

  #unavailable(): Unavailable {
    return new Unavailable(this.fault ?? 'it is not needed any more', this.#health, this.retryAt);
  }
}

/** Why a process ended is mostly in what it wrote last. */
function lastWords(tail: string): string {
  const words = tail.trim();
  return words === '' ? '' : ` It last wrote: ${words.slice(-LAST_WORDS)}`;
}
