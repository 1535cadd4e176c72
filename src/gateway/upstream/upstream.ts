import { type Clock, type Timers, withTimeout } from '../../base/clock.ts';
import type { StartLimit } from '../../base/limiter.ts';
import type { UpstreamHealth, UpstreamStatus } from '../../core/ports/gateway.ts';
import { wallTimeOf } from '../../core/runs/admission.ts';
import { plainText } from '../../core/text.ts';
import {
  type FaultKind,
  type Json,
  type LinkEvents,
  type LinkRequest,
  UpstreamFault,
} from '../../wire/upstream/link.ts';
import { type Connected, withLogTail } from './connect.ts';

/**
 * Delays before the first retries. Later retries, and those of a server that has failed a call, come once per
 * cool-down.
 */
const RETRY_DELAYS_MS = [1_000, 2_000, 4_000, 8_000, 16_000];
/** Longest delay that a server may ask for. */
const MAX_REQUESTED_DELAY_MS = 3_600_000;
/** Time without a fault after which the retry delays start from the first one again. */
const STABLE_MS = 300_000;
const PROBE_TIMEOUT_MS = 5_000;
/** Number of consecutive late calls after which a server counts as failed, even if it answers probes. */
const MAX_LATE_CALLS = 3;

/** The request was not sent, because the server is not available. */
export class Unavailable extends Error {
  readonly health: UpstreamHealth;
  /** Time of the next retry. Null if the gateway does not retry on its own. */
  readonly retryAt: number | null;

  constructor(fault: string, health: UpstreamHealth, retryAt: number | null) {
    super(fault);
    this.name = 'Unavailable';
    this.health = health;
    this.retryAt = retryAt;
  }
}

export interface UpstreamOptions {
  timeoutMs(): number;
  /** Timeout from the start of the server until it accepts requests. */
  startMs(): number;
  cooldownMs(): number;
  open(events: LinkEvents, signal: AbortSignal): Promise<Connected>;
  /** Last step of a start: reads the server's lists, so that they are known before the first call. */
  prepare(link: Connected): Promise<void>;
  /** Called when the server is lost or could not be started. */
  onDown(wasUp: boolean): void;
  onNotification(method: string, params: Json): void;
  onRequest?: LinkEvents['onRequest'];
  /** Whether any run uses the server. */
  isWanted(): boolean;
  redact(text: string): string;
  /** Whether retrying cannot help until the user has changed something. */
  isFinal(fault: UpstreamFault): boolean;
  starts: StartLimit;
  clock: Clock;
  timers: Timers;
}

/** A link, and the state of its requests. */
interface Connection {
  readonly link: Connected;
  /** Requests in flight. */
  busy: number;
  onIdle: (() => void) | null;
  isProbing: boolean;
  probesAnswered: number;
  /** Number of consecutive late calls. */
  late: number;
  /** True if a call failed in transport or timed out. */
  hasFailedCall: boolean;
}

/** The connection to another server: started when it is needed, watched, and started again when it was lost. */
export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #stop = new AbortController();
  #connection: Connection | null = null;
  #starting: Promise<Connection> | null = null;
  /** Links that finish their calls before they close. */
  readonly #leaving = new Set<Connection>();
  /** Promises of the links that are closing, one for each. */
  readonly #closing = new Set<Promise<void>>();
  #cancelTimer: () => void = () => {};
  /** Time of the next retry, on the monotonic clock. */
  #retryAt: number | null = null;
  /** Retries since the server was last stable. */
  #retries = 0;
  /** True if any connection was lost after a failed call, or with calls in flight. */
  #hasFailedCall = false;

  health: UpstreamHealth = 'idle';
  since: number;
  /** Why the server is not available now, with secrets removed. */
  fault: string | null = null;
  faultKind: FaultKind | null = null;
  /** The last fault. Kept when the server is up again. */
  lastFault: UpstreamStatus['lastFault'] = null;
  failures = 0;
  calls = 0;
  stray = 0;
  starts = 0;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.since = options.clock.now();
  }

  get link(): Connected | null {
    return this.#connection?.link ?? null;
  }

  /** Time of the next retry by the current wall clock. Null if none is planned. */
  get retryAt(): number | null {
    return this.#retryAt === null ? null : wallTimeOf(this.#options.clock, this.#retryAt);
  }

  /** Rejects with an UpstreamFault, or with Unavailable when the request was not sent. */
  request(method: string, params: Json, options: Omit<LinkRequest, 'timeoutMs'>): Promise<Json> {
    this.calls += 1;
    const request = { ...options, timeoutMs: this.#options.timeoutMs() };
    const usable = this.#usable();
    if (usable !== null) return this.#send(usable, method, params, request);
    return this.#started(options.signal).then(connection => this.#send(connection, method, params, request));
  }

  /** Resolves when the server accepts requests. Rejects as `request` does. */
  async up(signal: AbortSignal): Promise<void> {
    if (this.#usable() === null) await this.#started(signal);
  }

  /** Starts the server unless it is known to fail. Resolves when it is up or has failed. Never rejects. */
  async start(): Promise<void> {
    if (this.#mayStart()) await this.#begin().catch(() => {});
  }

  /** After a change of the configuration, a server that was given up may be tried again. */
  reconsider(): void {
    if (this.health !== 'unusable') return;
    this.#retries = 0;
    this.#enter('idle');
  }

  /** Stops the server for good after its calls in flight have finished. Resolves when it has stopped. */
  async retire(): Promise<void> {
    const [connection, starting] = [this.#connection, this.#starting];
    this.#stop.abort(new UpstreamFault('cancelled', 'it is not needed any more'));
    this.#starting = null;
    this.#connection = null;
    this.#enter('idle');
    if (connection !== null) this.#leave(connection);
    await starting?.catch(() => {});
    await Promise.all(this.#closing);
  }

  /** Stops the server for good; calls in flight fail. Resolves when it has stopped. */
  async close(): Promise<void> {
    const retired = this.retire();
    for (const { link } of this.#leaving) this.#close(link);
    await retired;
  }

  /** A server that is being probed accepts no new requests. */
  #usable(): Connection | null {
    return this.health === 'up' ? this.#connection : null;
  }

  async #started(signal: AbortSignal | undefined): Promise<Connection> {
    if (!this.#mayStart()) throw this.#unavailable();
    const { timers, timeoutMs } = this.#options;
    return await withTimeout(this.#begin(), timers, timeoutMs(), signal, isLate => {
      if (!isLate) return new UpstreamFault('cancelled', 'the caller cancelled the request');
      return new Unavailable(`it was not ready within ${timeoutMs() / 1000} s`, this.health, null);
    });
  }

  #mayStart(): boolean {
    const mayStart = this.health === 'idle' || this.health === 'starting' || this.health === 'up';
    return mayStart && !this.#stop.signal.aborted;
  }

  /** Starts the server once, however many callers ask. */
  #begin(): Promise<Connection> {
    if (this.#connection !== null) return Promise.resolve(this.#connection);
    this.#starting ??= this.#startOnce();
    return this.#starting;
  }

  async #startOnce(): Promise<Connection> {
    this.#enter('starting');
    const { signal } = this.#stop;
    try {
      const link = await this.#options.starts.run(() => this.#open(signal));
      if (signal.aborted) {
        this.#close(link);
        throw signal.reason;
      }
      this.#starting = null;
      return this.#connected(link);
    } catch (error) {
      if (!signal.aborted) {
        this.#starting = null;
        this.#failed(error instanceof UpstreamFault ? error : new UpstreamFault('start', String(error)));
      }
      throw this.#unavailable();
    }
  }

  /**
   * A link that is ready for requests within the start timeout. Rejects with the reason, and then leaves no process
   * behind.
   */
  async #open(stopped: AbortSignal): Promise<Connected> {
    const { open, prepare, timers, startMs, onNotification, onRequest } = this.#options;
    const onStray = () => {
      this.stray += 1;
    };
    stopped.throwIfAborted();
    const timeoutMs = startMs();
    const late = new AbortController();
    const cancel = timers.after(timeoutMs, () =>
      late.abort(new UpstreamFault('timeout', `it was not ready within ${timeoutMs / 1000} s`)),
    );
    const signal = AbortSignal.any([stopped, late.signal]);
    let link: Connected | null = null;
    try {
      link = await open({ onNotification, onRequest, onStray }, signal);
      await Promise.race([prepare(link), aborted(signal)]);
      return link;
    } catch (error) {
      if (link !== null) this.#close(link);
      // If the link noticed the timeout itself, its fault is more precise.
      const hasNoticed = link === null && error instanceof UpstreamFault && error.kind === 'timeout';
      const fault: unknown = late.signal.aborted && !hasNoticed ? late.signal.reason : error;
      throw link !== null && fault instanceof UpstreamFault ? withLogTail(fault, link.stderrTail()) : fault;
    } finally {
      cancel();
    }
  }

  #connected(link: Connected): Connection {
    const connection: Connection = {
      link,
      busy: 0,
      onIdle: null,
      isProbing: false,
      probesAnswered: 0,
      late: 0,
      hasFailedCall: false,
    };
    this.#connection = connection;
    this.starts += 1;
    this.#enterUp();
    void link.closed.then(fault => this.#lost(connection, fault));
    return connection;
  }

  async #send(connection: Connection, method: string, params: Json, options: LinkRequest): Promise<Json> {
    const { probesAnswered } = connection;
    connection.busy += 1;
    try {
      const result = await connection.link.request(method, params, options);
      connection.late = 0;
      return result;
    } catch (error) {
      if (error instanceof UpstreamFault) this.#callFailed(connection, error, probesAnswered);
      throw error;
    } finally {
      connection.busy -= 1;
      if (connection.busy === 0) connection.onIdle?.();
    }
  }

  /** Decides whether a failed call is the server's fault. */
  #callFailed(connection: Connection, fault: UpstreamFault, probesBefore: number): void {
    if (fault.kind === 'cancelled') return;
    if (fault.kind === 'answer') {
      connection.late = 0;
      return;
    }
    connection.hasFailedCall ||= fault.kind !== 'session';
    if (fault.kind !== 'timeout') this.#lost(connection, fault);
    else if (!connection.isProbing) this.#wasLate(connection, fault, probesBefore);
  }

  #wasLate(connection: Connection, fault: UpstreamFault, probesBefore: number): void {
    // Only calls that started after the last answered probe count as evidence against the server.
    if (probesBefore === connection.probesAnswered) connection.late += 1;
    if (connection.late >= MAX_LATE_CALLS) this.#lost(connection, fault);
    else if (this.#connection === connection) this.#enterChecking(fault);
    void this.#probe(connection, fault);
  }

  /**
   * The first retry is a probe over the same link: the server may be busy with only that call, and other runs share it.
   * A server that does not answer the probe is stopped with all its calls.
   */
  async #probe(connection: Connection, fault: UpstreamFault): Promise<void> {
    connection.isProbing = true;
    const isAnswered = await answersProbe(connection.link);
    connection.isProbing = false;
    if (isAnswered) {
      connection.probesAnswered += 1;
      if (this.#connection === connection) this.#enterUp();
    } else {
      this.#lost(connection, fault);
      void connection.link.close();
    }
  }

  #lost(connection: Connection, fault: UpstreamFault): void {
    if (this.#connection !== connection) return;
    this.#connection = null;
    // A server that ended the session still works, because the protocol lets clients open a new one. After any other
    // fault, calls in flight have failed with the link.
    if (fault.kind !== 'session') this.#hasFailedCall ||= connection.hasFailedCall || connection.busy > 0;
    this.#failed(fault, connection.link);
    this.#leave(connection);
  }

  /** `lost` is the link that was lost. Null if the server did not start. */
  #failed(fault: UpstreamFault, lost: Connected | null = null): void {
    const { isFinal, onDown } = this.#options;
    const full = fault.kind === 'exit' && lost !== null ? withLogTail(fault, lost.stderrTail()) : fault;
    this.#recordFault(full);
    if (isFinal(fault)) this.#enter('unusable');
    else this.#scheduleRetry(fault.retryAfterMs);
    onDown(lost !== null);
  }

  #scheduleRetry(requestedMs: number | null): void {
    const { cooldownMs, clock, timers } = this.#options;
    const short = this.#hasFailedCall ? undefined : RETRY_DELAYS_MS[this.#retries];
    this.#retries += 1;
    this.#enter(short === undefined ? 'cooling' : 'retrying');
    const requested = Math.min(requestedMs ?? 0, MAX_REQUESTED_DELAY_MS);
    const delayMs = Math.max(short ?? cooldownMs(), requested);
    this.#retryAt = clock.monotonic() + delayMs;
    this.#cancelTimer = timers.after(delayMs, () => {
      this.#enter('idle');
      if (this.#options.isWanted()) void this.start();
    });
  }

  #enterUp(): void {
    this.fault = null;
    this.faultKind = null;
    this.#enter('up');
    this.#cancelTimer = this.#options.timers.after(STABLE_MS, () => {
      this.#retries = 0;
    });
  }

  /** A call timed out. The first retry is a probe over the existing connection. */
  #enterChecking(fault: UpstreamFault): void {
    this.#recordFault(fault);
    this.#enter('checking');
    this.#retryAt = this.#options.clock.monotonic();
  }

  #enter(health: UpstreamHealth): void {
    this.#cancelTimer();
    this.#cancelTimer = () => {};
    this.health = health;
    this.since = this.#options.clock.now();
    this.#retryAt = null;
  }

  #recordFault({ message, kind }: UpstreamFault): void {
    // The fault that led to this check was already counted.
    if (this.health !== 'checking') this.failures += 1;
    this.fault = this.#options.redact(plainText(message));
    this.faultKind = kind;
    this.lastFault = { message: this.fault, at: this.#options.clock.now() };
  }

  /** Closes the connection after its calls have finished. */
  #leave(connection: Connection): void {
    const leave = async () => {
      if (connection.busy > 0) {
        const { promise, resolve } = Promise.withResolvers<void>();
        connection.onIdle = resolve;
        await promise;
      }
      await connection.link.close();
    };
    this.#leaving.add(connection);
    this.#track(leave().finally(() => this.#leaving.delete(connection)));
  }

  #close(link: Connected): void {
    this.#track(link.close());
  }

  /** Remembers a closing link, so that a caller who stops the server can wait until every link has closed. */
  #track(closing: Promise<void>): void {
    const gone = closing.catch(() => {}).finally(() => this.#closing.delete(gone));
    this.#closing.add(gone);
  }

  #unavailable(): Unavailable {
    return new Unavailable(this.fault ?? 'it is not needed any more', this.health, this.retryAt);
  }
}

async function answersProbe(link: Connected): Promise<boolean> {
  const method = link.era === 'modern' ? 'server/discover' : 'ping';
  try {
    await link.request(method, {}, { timeoutMs: PROBE_TIMEOUT_MS });
    return true;
  } catch (error) {
    return error instanceof UpstreamFault && error.kind === 'answer';
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    if (signal.aborted) reject(signal.reason);
  });
}
