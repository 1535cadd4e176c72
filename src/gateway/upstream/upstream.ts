import type { Clock } from '../../base/clock.ts';
import type { StartLimit } from '../../base/start-limit.ts';
import type { Timers } from '../../base/timers.ts';
import { withTimeout } from '../../base/timers.ts';
import type { UpstreamHealth, UpstreamStatus } from '../../core/ports/gateway.ts';
import { wallTimeOf } from '../../core/runs/admission.ts';
import { plainText } from '../../core/text.ts';
import {
  type FaultKind,
  type Json,
  type LinkEvents,
  type LinkRequest,
  UpstreamFault,
  type UpstreamLink,
} from '../../wire/upstream/link.ts';
import { createRetrySchedule, type RetrySchedule } from '../retry-schedule.ts';
import { type Connected, withLogTail } from './connect.ts';
import { Unavailable } from './unavailable.ts';

const STABLE_MS = 300_000;

interface ConditionOptions {
  cooldownMs(): number;
  clock: Clock;
  timers: Timers;
  /** The time has come for another try. */
  onRetry(): void;
}

/** How one server is doing, since when, and when it is tried again. */
class Condition {
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

/** Links on their way out, so that whoever ends a server can wait until all of it is gone. */
class ClosingLinks {
  readonly #leaving = new Set<ActiveLink>();
  readonly #closing = new Set<Promise<void>>();

  /** Its calls are let finish. */
  leave(link: ActiveLink): void {
    this.#leaving.add(link);
    this.#follow(link.leave().finally(() => this.#leaving.delete(link)));
  }

  close(link: Connected): void {
    this.#follow(link.close());
  }

  /** Nobody waits for the calls of those that are leaving. */
  hurry(): void {
    for (const { link } of this.#leaving) this.close(link);
  }

  async done(): Promise<void> {
    await Promise.all(this.#closing);
  }

  #follow(closing: Promise<void>): void {
    const gone = closing.catch(() => {}).finally(() => this.#closing.delete(gone));
    this.#closing.add(gone);
  }
}

const PROBE_MS = 5_000;
/** As often as this in a row, answering a probe does not make up for it. */
const MAX_LATE_CALLS = 3;

interface LinkJudge {
  /** A call ran out of time: nothing new is to be asked until it is known whether the server answers at all. */
  onDoubt(fault: UpstreamFault): void;
  /** It does. */
  onAnswer(): void;
  /** The server is out of order. */
  onFault(fault: UpstreamFault): void;
}

/** One link from its first request to its last: tells which faults speak against the server, and goes only when its last call is over. */
class ActiveLink {
  readonly link: Connected;
  readonly #judge: LinkJudge;
  #busy = 0;
  #left: (() => void) | null = null;
  #isProbing = false;
  /** Probes answered. */
  #cleared = 0;
  /** How often in a row it was late, with no call answered in between. */
  #late = 0;
  #hasFailedCall = false;

  constructor(link: Connected, judge: LinkJudge) {
    this.link = link;
    this.#judge = judge;
  }

  /** A call failed in transport or ran out of time, or is about to because the link is gone. */
  get hasFailedCall(): boolean {
    return this.#hasFailedCall || this.#busy > 0;
  }

  async request(method: string, params: Json, options: LinkRequest): Promise<Json> {
    const clearedBefore = this.#cleared;
    this.#busy += 1;
    try {
      const result = await this.link.request(method, params, options);
      this.#late = 0;
      return result;
    } catch (error) {
      if (error instanceof UpstreamFault) this.#weigh(error, clearedBefore);
      throw error;
    } finally {
      this.#busy -= 1;
      if (this.#busy === 0) this.#left?.();
    }
  }

  /** No new calls come; those under way are let finish. Settles when the link is gone. */
  async leave(): Promise<void> {
    if (this.#busy > 0)
      await new Promise<void>(resolve => {
        this.#left = resolve;
      });
    await this.link.close();
  }

  #weigh(fault: UpstreamFault, clearedBefore: number): void {
    if (fault.kind === 'cancelled') return;
    if (fault.kind === 'answer') {
      this.#late = 0;
      return;
    }
    this.#hasFailedCall ||= fault.kind !== 'session';
    if (fault.kind === 'timeout') this.#wasLate(fault, clearedBefore);
    else this.#judge.onFault(fault);
  }

  #wasLate(fault: UpstreamFault, clearedBefore: number): void {
    if (this.#isProbing) return;
    // A call from before the last probe tells nothing that the probe was not about.
    if (clearedBefore === this.#cleared) this.#late += 1;
    if (this.#late < MAX_LATE_CALLS) this.#judge.onDoubt(fault);
    else this.#judge.onFault(fault);
    void this.#probe(fault);
  }

  /**
   * The first retry, over the same link: the server may be busy with just that one call, and others share it. One that answers
   * nothing else either is ended with all its calls.
   */
  async #probe(fault: UpstreamFault): Promise<void> {
    this.#isProbing = true;
    const doesAnswer = await this.#doesAnswer();
    this.#isProbing = false;
    if (doesAnswer) {
      this.#cleared += 1;
      this.#judge.onAnswer();
    } else {
      this.#judge.onFault(fault);
      void this.link.close();
    }
  }

  async #doesAnswer(): Promise<boolean> {
    const question = this.link.era === 'modern' ? 'server/discover' : 'ping';
    try {
      await this.link.request(question, {}, { timeoutMs: PROBE_MS });
      return true;
    } catch (error) {
      return error instanceof UpstreamFault && error.kind === 'answer';
    }
  }
}

interface Opening {
  open(signal: AbortSignal): Promise<Connected>;
  /** Part of the start: what the server has is known before anybody calls it. */
  greet(link: Connected): Promise<void>;
  /** A link that came and cannot be used. */
  discard(link: Connected): void;
  stopped: AbortSignal;
  timeoutMs: number;
  timers: Timers;
}

/** A link that has been greeted, within the time for it. Rejects with why not, and then nothing of it stays. */
async function openInTime({ open, greet, discard, stopped, timeoutMs, timers }: Opening): Promise<Connected> {
  stopped.throwIfAborted();
  const late = new AbortController();
  const cancel = timers.after(timeoutMs, () =>
    late.abort(new UpstreamFault('timeout', `it was not ready within ${timeoutMs / 1000} s`)),
  );
  const signal = AbortSignal.any([stopped, late.signal]);
  let link: Connected | null = null;
  try {
    link = await open(signal);
    await Promise.race([greet(link), aborted(signal)]);
    return link;
  } catch (error) {
    if (link !== null) discard(link);
    // Of a link that did not come, its own fault says more, if it has noticed the same.
    const isSaid = link === null && error instanceof UpstreamFault && error.kind === 'timeout';
    const fault: unknown = late.signal.aborted && !isSaid ? late.signal.reason : error;
    throw link !== null && fault instanceof UpstreamFault ? withLogTail(fault, link.stderrTail()) : fault;
  } finally {
    cancel();
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    if (signal.aborted) reject(signal.reason);
  });
}

export interface UpstreamOptions {
  timeoutMs(): number;
  /** From its start until it can be asked. */
  startMs(): number;
  cooldownMs(): number;
  open(events: LinkEvents, signal: AbortSignal): Promise<Connected>;
  /** Part of the start: what the server has is known before anybody calls it. */
  greet(link: UpstreamLink): Promise<void>;
  /** It is not there any more, or did not come; what it offered goes with it. */
  onDown(wasUp: boolean): void;
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
  readonly condition: Condition;
  #current: ActiveLink | null = null;
  #starting: Promise<ActiveLink> | null = null;
  readonly #departures = new ClosingLinks();
  readonly #stop = new AbortController();
  #hasFailedCall = false;
  calls = 0;
  stray = 0;
  starts = 0;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.condition = new Condition({ ...options, onRetry: () => this.#retry() });
  }

  get link(): Connected | null {
    return this.#current?.link ?? null;
  }

  /** Rejects with an UpstreamFault, or with Unavailable when it was not even asked. */
  request(method: string, params: Json, options: Omit<LinkRequest, 'timeoutMs'>): Promise<Json> {
    this.calls += 1;
    const asked = { ...options, timeoutMs: this.#options.timeoutMs() };
    const usable = this.#usable();
    if (usable !== null) return usable.request(method, params, asked);
    return this.#started(options.signal).then(connection => connection.request(method, params, asked));
  }

  /** Settles when it can be asked. Rejects as `request` does. */
  async up(signal: AbortSignal): Promise<void> {
    if (this.#usable() === null) await this.#started(signal);
  }

  /** Gets it going if nothing stands against it. Settles when it is up, or is known not to be; never rejects. */
  async start(): Promise<void> {
    if (this.#mayStart()) await this.#begin().catch(() => {});
  }

  /** For good. Calls under way are let finish, then it ends. Settles when it is gone. */
  async retire(): Promise<void> {
    const [current, starting] = [this.#current, this.#starting];
    this.#stop.abort(new UpstreamFault('cancelled', 'it is not needed any more'));
    this.#starting = null;
    this.#current = null;
    this.condition.idle();
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

  /** One that is being checked is there, and is asked nothing new. */
  #usable(): ActiveLink | null {
    return this.condition.health === 'up' ? this.#current : null;
  }

  async #started(signal: AbortSignal | undefined): Promise<ActiveLink> {
    if (!this.#mayStart()) throw this.#unavailable();
    const { timers, timeoutMs } = this.#options;
    return await withTimeout(this.#begin(), timers, timeoutMs(), signal, late => {
      if (!late) return new UpstreamFault('cancelled', 'the caller took it back');
      return new Unavailable(`it was not ready within ${timeoutMs() / 1000} s`, this.condition.health, null);
    });
  }

  #mayStart(): boolean {
    const { health } = this.condition;
    return !this.#stop.signal.aborted && (health === 'idle' || health === 'starting' || health === 'up');
  }

  /** However many ask for it, it is started once. */
  #begin(): Promise<ActiveLink> {
    if (this.#current !== null) return Promise.resolve(this.#current);
    this.#starting ??= this.#startOnce();
    return this.#starting;
  }

  async #startOnce(): Promise<ActiveLink> {
    this.condition.starting();
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
    const { open, greet, timers, startMs, onNotification, onRequest } = this.#options;
    const onStray = () => {
      this.stray += 1;
    };
    return openInTime({
      open: signal => open({ onNotification, onRequest, onStray }, signal),
      greet,
      discard: link => this.#departures.close(link),
      stopped,
      timeoutMs: startMs(),
      timers,
    });
  }

  #arrived(link: Connected): ActiveLink {
    const connection = new ActiveLink(link, {
      onDoubt: fault => {
        if (this.#current === connection) this.condition.checking(this.#words(fault));
      },
      onAnswer: () => {
        if (this.#current === connection) this.condition.up();
      },
      onFault: fault => this.#lost(connection, fault),
    });
    this.#current = connection;
    this.starts += 1;
    this.condition.up();
    void link.closed.then(fault => this.#lost(connection, fault));
    return connection;
  }

  #lost(connection: ActiveLink, fault: UpstreamFault): void {
    if (this.#current !== connection) return;
    this.#current = null;
    // A server that ended our session is in order: the protocol has clients open the next one.
    if (fault.kind !== 'session') this.#hasFailedCall ||= connection.hasFailedCall;
    this.#failed(fault, connection.link);
    this.#departures.leave(connection);
  }

  /** `lost`: the link there was; none when it did not come to one. */
  #failed(fault: UpstreamFault, lost: Connected | null = null): void {
    const { isFinal, onDown } = this.#options;
    const told = fault.kind === 'exit' && lost !== null ? withLogTail(fault, lost.stderrTail()) : fault;
    this.condition.failed(this.#words(told), {
      kind: fault.kind,
      isFinal: isFinal(fault),
      wishMs: fault.retryAfterMs,
      hasFailedCall: this.#hasFailedCall,
    });
    onDown(lost !== null);
  }

  #words({ message }: UpstreamFault): string {
    return this.#options.redact(plainText(message));
  }

  #retry(): void {
    this.condition.idle();
    if (this.#options.isWanted()) void this.start();
  }

  #unavailable(): Unavailable {
    const { fault, health, retryAt } = this.condition;
    return new Unavailable(fault ?? 'it is not needed any more', health, retryAt);
  }
}
