import type { Event } from '../schema/event.ts';
import type { InboxItem } from '../schema/inbox.ts';
import type { LiveMessage } from '../schema/live.ts';
import type { LivePage } from './live-client.ts';
import type { PagePorts } from './ports.ts';

export interface FeedOptions {
  /** What happens within this time is told as one. */
  flushMs: number;
  beatMs: number;
}

/** A page that has missed more asks for everything anew. */
const MAX_AT_ONCE = 1_000;
const MAX_FRAME_BYTES = 4 * 1024 * 1024;

/** What happens, to every open page alike: worked out once, while there is anybody to tell. */
export class LiveFeed {
  private readonly ports: Pick<PagePorts, 'services' | 'touchedRuns' | 'cardsOf' | 'version' | 'log'>;
  private readonly options: FeedOptions;
  private readonly pages = new Set<LivePage>();
  private pending: Event[] = [];
  private isTooMuch = false;
  /** The number of the newest event that pages have been told of. */
  private last = 0;
  private listening: (() => void) | null = null;
  private flushing: NodeJS.Timeout | null = null;
  private beating: NodeJS.Timeout | null = null;
  private turn: Promise<void> = Promise.resolve();

  constructor(ports: LiveFeed['ports'], options: FeedOptions) {
    this.ports = ports;
    this.options = options;
  }

  /** Greets a page and brings it from `after` to now; null: it knows nothing yet. Settles when it is one of those that are told. */
  join(page: LivePage, after: number | null): Promise<void> {
    return this.inTurn(async () => {
      if (!this.listening) await this.wake();
      const { version, services } = this.ports;
      const { startedAt } = services.hub.status();
      page.send(frame({ type: 'hello', version, hubStartedAt: startedAt, last: this.last }));
      if (after !== null && after !== this.last) page.send(this.bounded(await this.since(after)));
      this.pages.add(page);
    });
  }

  leave(page: LivePage): void {
    this.pages.delete(page);
    if (this.pages.size > 0) return;
    this.inTurn(async () => {
      if (this.pages.size === 0) this.sleep();
    }).catch(() => {});
  }

  reset(why: string): Buffer {
    return frame({ type: 'reset', last: this.last, why });
  }

  private async wake(): Promise<void> {
    const { store } = this.ports.services;
    // Before the number is looked up, so that nothing is missed between the two.
    this.listening = store.onEvents(events => this.take(events));
    const [newest] = await store.events({ limit: 1, reverse: true }).catch((thrown: unknown) => {
      // Half awake it would never look the number up again.
      this.sleep();
      throw thrown;
    });
    this.last = newest?.seq ?? 0;
    const beat = () => {
      const message = frame({ type: 'beat', at: this.ports.services.clock.now() });
      for (const page of this.pages) page.beat(message);
    };
    this.beating = setInterval(beat, this.options.beatMs).unref();
  }

  private sleep(): void {
    this.listening?.();
    this.listening = null;
    for (const timer of [this.beating, this.flushing]) if (timer) clearTimeout(timer);
    this.flushing = null;
    this.pending = [];
    this.isTooMuch = false;
  }

  private take(events: Event[]): void {
    this.pending.push(...events);
    if (this.pending.length > MAX_AT_ONCE) {
      this.isTooMuch = true;
      this.pending = this.pending.slice(-1);
    }
    this.flushing ??= setTimeout(() => {
      this.flushing = null;
      this.inTurn(() => this.flush()).catch(() => {}); // it is in the log
    }, this.options.flushMs);
  }

  private async flush(): Promise<void> {
    const events = this.pending.filter(({ seq }) => seq > this.last);
    const { isTooMuch } = this;
    this.pending = [];
    this.isTooMuch = false;
    const newest = events.at(-1)?.seq;
    if (newest === undefined) return;
    const changes = isTooMuch ? null : await this.changes(events, newest);
    // From here to the last page nothing is waited for: what a page is told meanwhile is either before all of this, or after it.
    this.last = newest;
    const message = changes ? this.bounded(changes) : this.reset('Too much happened at once');
    for (const page of this.pages) page.send(message);
  }

  private async since(after: number): Promise<LiveMessage> {
    const { last } = this;
    if (after > last) return { type: 'reset', last, why: 'Unknown event number' };
    const events = await this.ports.services.store.events({ after, limit: MAX_AT_ONCE + 1 });
    if (events.length > MAX_AT_ONCE) return { type: 'reset', last, why: 'Too much happened meanwhile' };
    return this.changes(
      events.filter(({ seq }) => seq <= last),
      last,
    );
  }

  /** With everything the events are about as it is now, which may be newer than the last of them. */
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

  /** One thing at a time: what a page is sent on joining ends exactly where the next flush begins. */
  private inTurn(act: () => Promise<void>): Promise<void> {
    const acting = this.turn.then(act);
    this.turn = acting.catch(thrown => this.ports.log('error', 'The live feed', thrown));
    return acting;
  }
}

export const frame = (message: LiveMessage): Buffer => Buffer.from(JSON.stringify(message));
