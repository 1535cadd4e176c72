import type { EventBody } from '../schema/event.ts';
import type { EngineEvent } from './ports/engine.ts';

type Activity = Extract<EventBody, { type: 'run.activity' }>;

const LONGEST = 300;
const AT_MOST_EVERY_MS = 200;

/** Turns an agent's chatter into events at a pace a database and a reader can follow: what is passed over is counted. */
export class ActivityPace {
  private last = Number.NEGATIVE_INFINITY;
  private skipped = 0;

  take(event: EngineEvent, now: number): Activity | null {
    const activity = describe(event);
    if (!activity) return null;
    if (now - this.last < AT_MOST_EVERY_MS) {
      this.skipped++;
      return null;
    }
    const more = this.skipped > 0 ? ` (and ${this.skipped} more)` : '';
    this.last = now;
    this.skipped = 0;
    return { ...activity, text: activity.text + more };
  }
}

function describe(event: EngineEvent): Activity | null {
  if (event.type === 'text') return { type: 'run.activity', kind: 'text', text: cut(event.text) };
  if (event.type === 'tool')
    return { type: 'run.activity', kind: 'tool', text: cut(`${event.name} ${event.detail}`.trim()) };
  if (event.type === 'note') return { type: 'run.activity', kind: 'note', text: cut(event.text) };
  return null;
}

const cut = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST).toWellFormed()}…` : text);
