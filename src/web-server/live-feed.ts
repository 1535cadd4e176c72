import type { Event } from '../schema/event.ts';
import type { InboxItem } from '../schema/inbox.ts';
import type { LiveMessage } from '../schema/live.ts';
import type { LiveClient } from './live-socket.ts';
import type { WebPorts } from './ports.ts';

export interface FeedOptions {
  /** Time in which events are collected and sent as one message. */
  flushMs: number;
  beatMs: number;
}

/** A client that has missed more events is reset: it queries everything again. */
const MAX_EVENTS = 1_000;
const MAX_FRAME_BYTES = 4 * 1024 * 1024;

/** Sends every change to all open web UIs. Changes are computed once for all, and only while a web UI is open. */
export class LiveFeed {
  private readonly ports: Pick<WebPorts, 'services' | 'touchedRuns' | 'cardsOf' | 'version' | 'log'>;
  private readonly options: FeedOptions;
  private readonly clients = new Set<LiveClient>();
  private pending: Event[] = [];
  private isOverflowing = false;
  /** Number of the newest event that was sent to clients. */
  private last = 0;
  private listening: (() => void) | null = null;
  private flushing: NodeJS.Timeout | null = null;
  private beating: NodeJS.Timeout | null = null;
  private turn: Promise<void> = Promise.resolve();

  constructor(ports: LiveFeed['ports'], options: FeedOptions) {
    this.ports = ports;
    this.options = options;
  }

  /**
   * Sends `hello` and every change after event `after`, where null means that the client has no data yet. Resolves
   * when the client gets all further changes.
   */
  join(client: LiveClient, after: number | null): Promise<void> {
    return this.inTurn(async () => {
      if (!this.listening) await this.wake();
      const { version, services } = this.ports;
      const { startedAt } = services.hub.status();
      client.send(frame({ type: 'hello', version, hubStartedAt: startedAt, last: this.last }));
      if (after !== null && after !== this.last) client.send(this.bounded(await this.since(after)));
      this.clients.add(client);
    });
  }

  leave(client: LiveClient): void {
    this.clients.delete(client);
    if (this.clients.size > 0) return;
    this.inTurn(async () => {
      if (this.clients.size === 0) this.sleep();
    }).catch(() => {});
  }

  reset(why: string): Buffer {
    return frame({ type: 'reset', last: this.last, why });
  }

  private async wake(): Promise<void> {
    const { store } = this.ports.services;
    // Subscribe before reading the newest number, so that no event is missed in between.
    this.listening = await store.follow(events => this.take(events));
    const [newest] = await store.events({ limit: 1, reverse: true }).catch((thrown: unknown) => {
      // Unsubscribe after an error: while subscribed, the next join would not read the number again.
      this.sleep();
      throw thrown;
    });
    this.last = newest?.seq ?? 0;
    const beat = () => {
      const message = frame({ type: 'beat', at: this.ports.services.clock.now() });
      for (const client of this.clients) client.beat(message);
    };
    this.beating = setInterval(beat, this.options.beatMs).unref();
  }

  private sleep(): void {
    this.listening?.();
    this.listening = null;
    for (const timer of [this.beating, this.flushing]) if (timer) clearTimeout(timer);
    this.flushing = null;
    this.pending = [];
    this.isOverflowing = false;
  }

  private take(events: Event[]): void {
    this.pending.push(...events);
    if (this.pending.length > MAX_EVENTS) {
      this.isOverflowing = true;
      this.pending = this.pending.slice(-1);
    }
    this.flushing ??= setTimeout(() => {
      this.flushing = null;
      this.inTurn(() => this.flush()).catch(() => {}); // inTurn() has logged the error
    }, this.options.flushMs);
  }

  private async flush(): Promise<void> {
    const events = this.pending.filter(({ seq }) => seq > this.last);
    const { isOverflowing } = this;
    this.pending = [];
    this.isOverflowing = false;
    const newest = events.at(-1)?.seq;
    if (newest === undefined) return;
    const changes = isOverflowing ? null : await this.changes(events, newest);
    // No `await` may follow until the message is sent. A client that joins meanwhile then gets these changes exactly
    // once.
    this.last = newest;
    const message = changes ? this.bounded(changes) : this.reset('Too many events at once');
    for (const client of this.clients) client.send(message);
  }

  private async since(after: number): Promise<LiveMessage> {
    const { last } = this;
    if (after > last) return { type: 'reset', last, why: 'Unknown event number' };
    const events = await this.ports.services.store.events({ after, limit: MAX_EVENTS + 1 });
    if (events.length > MAX_EVENTS) return { type: 'reset', last, why: 'Too many events since then' };
    return this.changes(
      events.filter(({ seq }) => seq <= last),
      last,
    );
  }

  /** Events with the current state of their runs and items; that state may be newer than the last event. */
  private async changes(events: Event[], last: number): Promise<LiveMessage> {
    const inbox = new Map<string, InboxItem>();
    for (const { body } of events) if ('item' in body) inbox.set(body.item.id, body.item);
    try {
      const runs = await this.ports.cardsOf(await this.ports.touchedRuns(events));
      return { type: 'changes', events, runs, inbox: [...inbox.values()], last };
    } catch (thrown) {
      this.ports.log('error', 'The live feed', thrown);
      return { type: 'reset', last, why: 'The changes could not be read' };
    }
  }

  private bounded(message: LiveMessage): Buffer {
    const framed = frame(message);
    return framed.length > MAX_FRAME_BYTES ? this.reset('Too much changed at once') : framed;
  }

  /** Runs one step at a time, so that the next flush begins exactly where the data of a joining client ends. */
  private inTurn(act: () => Promise<void>): Promise<void> {
    const acting = this.turn.then(act);
    this.turn = acting.catch(thrown => this.ports.log('error', 'The live feed', thrown));
    return acting;
  }
}

export const frame = (message: LiveMessage): Buffer => Buffer.from(JSON.stringify(message));
