import type { EventBody } from '../../schema/event.ts';
import { moreCalls } from '../../schema/more-calls.ts';
import type { EngineEvent } from '../ports/engine.ts';

type Activity = Extract<EventBody, { type: 'run.activity' }>;

const LONGEST = 300;
/** So many at once, and so many a second after that. */
const AT_ONCE = 50;
const A_SECOND = 5;
/** Of those at once, for what an agent does alone: what it says must not keep that from being told. */
const FOR_TOOLS = 10;

/** Turns an agent's chatter into events at a pace a database and a reader can follow: what is passed over is counted. */
export class ActivityPace {
  private room = AT_ONCE;
  private at: number | null = null;
  private skipped = 0;

  take(event: EngineEvent, now: number): Activity | null {
    const activity = describe(event);
    if (!activity) return null;
    const sinceLast = this.at === null ? 0 : Math.max(0, now - this.at);
    this.room = Math.min(AT_ONCE, this.room + (sinceLast * A_SECOND) / 1_000);
    this.at = now;
    if (this.room < (activity.kind === 'tool' ? 1 : FOR_TOOLS + 1)) {
      this.skipped++;
      return null;
    }
    this.room--;
    return this.withSkipped(activity);
  }

  /** Nothing more comes: what was passed over since the last event, if anything was. */
  rest(): Activity | null {
    if (this.skipped === 0) return null;
    return this.withSkipped({ type: 'run.activity', kind: 'note', text: 'Its output has all of it.' });
  }

  private withSkipped(activity: Activity): Activity {
    const { skipped } = this;
    this.skipped = 0;
    return skipped > 0 ? { ...activity, skipped } : activity;
  }
}

function describe(event: EngineEvent): Activity | null {
  if (event.type === 'text') return { type: 'run.activity', kind: 'text', text: cut(event.text) };
  if (event.type === 'tool')
    return { type: 'run.activity', kind: 'tool', text: cut(`${event.name} ${event.detail}`.trim()) };
  if (event.type === 'more_tools') return { type: 'run.activity', kind: 'tool', text: moreCalls(event) };
  if (event.type === 'note') return { type: 'run.activity', kind: 'note', text: cut(event.text) };
  return null;
}

const cut = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST).toWellFormed()}…` : text);
