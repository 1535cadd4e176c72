import { oneLine } from '../../base/text.ts';
import type { Event } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { RunCard } from '../../schema/run-card.ts';
import type { Store } from '../ports/store.ts';

type Activity = NonNullable<RunCard['activity']>;

const MAX_TEXT_LENGTH = 160;

/**
 * Last activity of each running run. Kept in memory, because lists ask for it often. Activity from before this hub is
 * read from the store once.
 */
export class LastActivity {
  private readonly store: Pick<Store, 'events'>;
  private readonly isLive: (id: RunId) => boolean;
  private readonly known = new Map<RunId, Activity | null>();

  constructor(store: Pick<Store, 'events'>, isLive: (id: RunId) => boolean) {
    this.store = store;
    this.isLive = isLive;
  }

  take(events: readonly Event[]): void {
    for (const event of events) {
      if (event.runId === null) continue;
      if (event.body.type === 'run.ended') this.known.delete(event.runId);
      else if (event.body.type === 'run.activity' && this.isLive(event.runId))
        this.known.set(event.runId, activityOf(event, event.body.text));
    }
  }

  /** Null if there was no activity yet, or the run has ended. */
  async of(id: RunId): Promise<Activity | null> {
    const known = this.known.get(id);
    if (known !== undefined) return known;
    if (!this.isLive(id)) return null;
    const [event] = await this.store.events({ runId: id, types: ['run.activity'], limit: 1, reverse: true });
    const found = event?.body.type === 'run.activity' ? activityOf(event, event.body.text) : null;
    // Events that arrived during the read are newer than the result of the read, so they count.
    if (this.isLive(id) && !this.known.has(id)) this.known.set(id, found);
    return this.known.get(id) ?? found;
  }
}

const activityOf = ({ at }: Event, text: string): Activity => ({ at, text: oneLine(text, MAX_TEXT_LENGTH) });
