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
import { LinkInUse } from './link-in-use.ts';
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
  readonly #leaving = new Set<LinkInUse>();
  readonly #goodbyes = new Set<Promise<void>>();
  #stop = new AbortController();
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
    if (this.#health !== 'idle' && this.#health !== 'starting') return;
    await this.#begin().catch(() => {});
  }

  /** Something was changed that may have been the reason: what was given up is tried again. */
  reconsider(): void {
    if (this.#health !== 'unusable') return;
    this.#schedule.forgive();
    this.#enter('idle');
  }

  /** Calls under way are let finish, then it ends. Settles when it is gone. */
  async retire(): Promise<void> {
    const current = this.#current;
    const starting = this.#starting;
    this.#withdraw();
    if (current !== null) this.#leave(current);
    await starting?.catch(() => {});
    await Promise.all(this.#goodbyes);
  }

  /** Calls under way fail. Settles when it is gone. */
  async close(): Promise<void> {
    const retired = this.retire();
    for (const { link } of this.#leaving) this.#goodbye(link.close());
    await retired;
  }

  async #started(signal: AbortSignal | undefined): Promise<LinkInUse> {
    if (this.#health !== 'idle' && this.#health !== 'starting') throw this.#unavailable();
    return await this.#patiently(this.#begin(), signal);
  }

  /** However many ask for it, it is started once. */
  #begin(): Promise<LinkInUse> {
    if (this.#current !== null) return Promise.resolve(this.#current);
    this.#starting ??= this.#startOnce();
    return this.#starting;
  }

  async #startOnce(): Promise<LinkInUse> {
    this.#enter('starting');
    const stop = this.#stop;
    try {
      const link = await this.#options.starts.run(() => this.#open(stop.signal));
      if (stop.signal.aborted) {
        this.#goodbye(link.close());
        throw stop.signal.reason;
      }
      this.#starting = null;
      return this.#arrived(link);
    } catch (error) {
      if (!stop.signal.aborted) {
        this.#starting = null;
        this.#failed(error instanceof UpstreamFault ? error : new UpstreamFault('start', String(error)));
      }
      throw this.#unavailable();
    }
  }

  async #open(stopped: AbortSignal): Promise<Connected> {
    stopped.throwIfAborted();
    const tooLate = new AbortController();
    const timeoutMs = this.#options.timeoutMs();
    const cancel = this.#options.timers.after(timeoutMs, () =>
      tooLate.abort(new UpstreamFault('timeout', `it was not ready within ${timeoutMs / 1000} s`)),
    );
    const signal = AbortSignal.any([stopped, tooLate.signal]);
    let link: Connected | null = null;
    try {
      link = await this.#options.open(this.#events(), signal);
      await Promise.race([this.#options.greet(link), aborted(signal)]);
      return link;
    } catch (error) {
      if (link !== null) this.#goodbye(link.close());
      throw tooLate.signal.aborted ? tooLate.signal.reason : error;
    } finally {
      cancel();
    }
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
    this.#leave(connection);
  }

  #leave(connection: LinkInUse): void {
    this.#leaving.add(connection);
    this.#goodbye(connection.leave().finally(() => this.#leaving.delete(connection)));
  }

  /** Whoever ends this waits until all of it is gone. */
  #goodbye(closing: Promise<void>): void {
    const gone = closing.catch(() => {}).finally(() => this.#goodbyes.delete(gone));
    this.#goodbyes.add(gone);
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
    this.#stop = new AbortController();
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

  /** A caller waits for a start no longer than it would for an answer; the start goes on for the others. */
  #patiently(starting: Promise<LinkInUse>, signal: AbortSignal | undefined): Promise<LinkInUse> {
    return new Promise((resolve, reject) => {
      const timeoutMs = this.#options.timeoutMs();
      const cancel = this.#options.timers.after(timeoutMs, () =>
        reject(new Unavailable(`it was not ready within ${timeoutMs / 1000} s`, this.#health, null)),
      );
      const giveUp = () => reject(new UpstreamFault('cancelled', 'the caller took it back'));
      signal?.addEventListener('abort', giveUp, { once: true });
      if (signal?.aborted) giveUp();
      starting.then(resolve, reject).finally(() => {
        cancel();
        signal?.removeEventListener('abort', giveUp);
      });
    });
  }
}

/** Why a process ended is mostly in what it wrote last. */
function lastWords(tail: string): string {
  const words = tail.trim();
  return words === '' ? '' : ` It last wrote: ${words.slice(-LAST_WORDS)}`;
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    if (signal.aborted) reject(signal.reason);
  });
}
