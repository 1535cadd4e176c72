import { oneLine } from '../../base/text.ts';
import type { Event } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Store } from '../ports/store.ts';

export interface Activity {
  text: string;
  at: number;
}

const MAX_TEXT_LENGTH = 160;

/** What each run at work did last. Kept in memory, because lists ask for it again and again; what was before this hub is looked up once. */
export class LastActivity {
  private readonly store: Pick<Store, 'events'>;
  private readonly isLive: (id: RunId) => boolean;
  private readonly known = new Map<RunId, Activity | null>();

  constructor(store: Pick<Store, 'events'>, isLive: (id: RunId) => boolean) {
    this.store = store;
    this.isLive = isLive;
  }

  /** Every event, as it is written. */
  take(events: readonly Event[]): void {
    for (const event of events) {
      if (event.runId === null) continue;
      if (event.body.type === 'run.ended') this.known.delete(event.runId);
      else if (event.body.type === 'run.activity' && this.isLive(event.runId))
        this.known.set(event.runId, told(event, event.body.text));
    }
  }

  /** Null: it has done nothing worth telling, or has ended. */
  async of(id: RunId): Promise<Activity | null> {
    const known = this.known.get(id);
    if (known !== undefined) return known;
    if (!this.isLive(id)) return null;
    const [event] = await this.store.events({ runId: id, types: ['run.activity'], limit: 1, reverse: true });
    const found = event?.body.type === 'run.activity' ? told(event, event.body.text) : null;
    // News that came meanwhile are newer, and an end that came meanwhile is one.
    if (this.isLive(id) && !this.known.has(id)) this.known.set(id, found);
    return this.known.get(id) ?? found;
  }
}

const told = ({ at }: Event, text: string): Activity => ({ at, text: oneLine(text, MAX_TEXT_LENGTH) });
