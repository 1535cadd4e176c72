import type { Clock } from '../../base/clock.ts';
import { plainWords } from '../../core/visible-text.ts';
import {
  type Json,
  type LinkEvents,
  type LinkRequest,
  UpstreamFault,
  type UpstreamLink,
} from '../../wire/upstream/link.ts';
import { unlessGivenUp } from '../patience.ts';
import type { StartLimit } from '../start-limit.ts';
import type { Timers } from '../timers.ts';
import { Condition } from './condition.ts';
import type { Connected } from './connect.ts';
import { Departures } from './departures.ts';
import { withLastWords } from './last-words.ts';
import { LinkInUse } from './link-in-use.ts';
import { openInTime } from './open-in-time.ts';
import { Unavailable } from './unavailable.ts';

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
  #current: LinkInUse | null = null;
  #starting: Promise<LinkInUse> | null = null;
  readonly #departures = new Departures();
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
  #usable(): LinkInUse | null {
    return this.condition.health === 'up' ? this.#current : null;
  }

  async #started(signal: AbortSignal | undefined): Promise<LinkInUse> {
    if (!this.#mayStart()) throw this.#unavailable();
    const { timers, timeoutMs } = this.#options;
    return await unlessGivenUp(this.#begin(), timers, timeoutMs(), signal, late => {
      if (!late) return new UpstreamFault('cancelled', 'the caller took it back');
      return new Unavailable(`it was not ready within ${timeoutMs() / 1000} s`, this.condition.health, null);
    });
  }

  #mayStart(): boolean {
    const { health } = this.condition;
    return !this.#stop.signal.aborted && (health === 'idle' || health === 'starting' || health === 'up');
  }

  /** However many ask for it, it is started once. */
  #begin(): Promise<LinkInUse> {
    if (this.#current !== null) return Promise.resolve(this.#current);
    this.#starting ??= this.#startOnce();
    return this.#starting;
  }

  async #startOnce(): Promise<LinkInUse> {
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

  #arrived(link: Connected): LinkInUse {
    const connection = new LinkInUse(link, {
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

  #lost(connection: LinkInUse, fault: UpstreamFault): void {
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
    const told = fault.kind === 'exit' && lost !== null ? withLastWords(fault, lost.stderrTail()) : fault;
    this.condition.failed(this.#words(told), {
      kind: fault.kind,
      isFinal: isFinal(fault),
      wishMs: fault.retryAfterMs,
      hasFailedCall: this.#hasFailedCall,
    });
    onDown(lost !== null);
  }

  #words({ message }: UpstreamFault): string {
    return this.#options.redact(plainWords(message));
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
