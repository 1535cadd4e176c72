import { useEffect, useState } from 'preact/hooks';
import type { Event } from '../../../../src/schema/event.ts';
import { ApiError, call } from '../../../state/api.ts';
import { onChanges } from '../../../state/live.ts';
import { useQuery } from '../../../state/query.ts';

/** As many as the page holds; older ones are asked for. */
const LIMIT = 500;
const MOST_HELD = 5_000;

export interface RunEvents {
  /** Oldest first. */
  events: Event[];
  error: ApiError | null;
  isLoading: boolean;
  /** Null: these are all. */
  showOlder: (() => void) | null;
  reload(): void;
}

/** What happened to a run, growing while it is looked at: what is new is added, nothing is asked for twice. */
export function useRunEvents(run: string): RunEvents {
  const { data, error, isLoading, reload } = useQuery('list_events', { run, limit: LIMIT });
  const [newer, setNewer] = useState<Event[]>([]);
  const [older, setOlder] = useState<{ events: Event[]; next: number | null } | null>(null);
  useEffect(
    () =>
      onChanges(({ events }) => {
        const mine = events.filter(event => event.runId === run);
        if (mine.length > 0) setNewer(known => [...known, ...mine].slice(-MOST_HELD));
      }),
    [run],
  );
  const next = older ? older.next : (data?.next ?? null);
  const showOlder = async () => {
    try {
      const page = await call('list_events', { run, limit: LIMIT, before: next ?? undefined });
      setOlder(known => ({ events: [...page.events.reverse(), ...(known?.events ?? [])], next: page.next }));
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      // What is shown stays; the button is still there.
    }
  };
  return {
    events: merged(older?.events ?? [], data ? [...data.events].reverse() : [], newer),
    error,
    isLoading,
    reload,
    showOlder: data && next !== null ? () => void showOlder() : null,
  };
}

/** In order, each once: a page that was asked for anew holds what came in meanwhile too. */
function merged(...pages: Event[][]): Event[] {
  const bySeq = new Map<number, Event>();
  for (const page of pages) for (const event of page) bySeq.set(event.seq, event);
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq);
}
