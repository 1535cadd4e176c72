import type { Event } from '../../../../src/schema/event.ts';

/** Maximum number of events kept in memory. */
export const MAX_HELD = 5_000;

/** Events of a run without a gap, oldest first. */
export interface EventLog {
  events: readonly Event[];
  /** Number of the event before which older events can be loaded. Null if there are none. */
  next: number | null;
}

/** A page of events, newest first, as the hub sends it. */
interface EventPage {
  events: readonly Event[];
  next: number | null;
}

export const NO_EVENTS: EventLog = { events: [], next: null };

/** Adds new events. Beyond the limit the oldest are dropped. */
export function withNewer(log: EventLog, came: readonly Event[]): EventLog {
  const events = inOrder(log.events, came);
  if (events.length <= MAX_HELD) return { ...log, events };
  const kept = events.slice(-MAX_HELD);
  return { events: kept, next: kept[0]!.seq };
}

/** Adds a page of older events to the log. */
export const withOlder = (log: EventLog, page: EventPage): EventLog => ({
  events: inOrder(page.events, log.events),
  next: page.next,
});

/**
 * Adds the newest page of events after a reload. `seam` is the last event before which none was missed. If the page
 * does not reach back to it, older events are dropped and loaded again on demand, so that the list has no gap.
 */
export function withNewest(log: EventLog, page: EventPage, seam: number | null): EventLog {
  const oldest = page.events.at(-1)?.seq ?? 0;
  const meets = page.next === null || log.events.length === 0 || seam === null || oldest <= seam;
  if (!meets)
    return {
      events: inOrder(
        log.events.filter(({ seq }) => seq > oldest),
        page.events,
      ),
      next: page.next,
    };
  const isFurther = log.events.length > 0 && (log.events[0]?.seq ?? 0) <= oldest;
  return { events: inOrder(log.events, page.events), next: isFurther ? log.next : page.next };
}

/** Merges pages of events in order and drops duplicates. */
function inOrder(...pages: (readonly Event[])[]): Event[] {
  const bySeq = new Map<number, Event>();
  for (const page of pages) for (const event of page) bySeq.set(event.seq, event);
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq);
}
