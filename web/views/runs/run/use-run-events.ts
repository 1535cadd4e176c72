import { useEffect, useRef, useState } from 'preact/hooks';
import type { Event } from '../../../../src/schema/event.ts';
import { ApiError, call } from '../../../state/api.ts';
import { onChanges } from '../../../state/live.ts';
import { useQuery } from '../../../state/query.ts';
import { NO_EVENTS, withNewer, withNewest, withOlder } from './event-log.ts';

const LIMIT = 500;

export interface RunEvents {
  /** Oldest first, without a gap. */
  events: readonly Event[];
  error: ApiError | null;
  isLoading: boolean;
  /** Null: these are all. */
  showOlder: (() => void) | null;
  reload(): void;
}

/** What happened to a run, growing while it is looked at: what is new is added, nothing is asked for twice. */
export function useRunEvents(run: string): RunEvents {
  const { data, isOf, error, isLoading, reload } = useQuery('list_events', { run, limit: LIMIT });
  const [log, setLog] = useState(NO_EVENTS);
  /** The last event before some were not told; null: all were. */
  const seam = useRef<number | null>(null);
  const last = useRef(0);
  last.current = log.events.at(-1)?.seq ?? 0;
  useEffect(() => {
    setLog(NO_EVENTS);
    seam.current = null;
    return onChanges(({ events, isReset }) => {
      if (isReset) seam.current ??= last.current;
      const mine = events.filter(event => event.runId === run);
      if (mine.length > 0) setLog(known => withNewer(known, mine));
    });
  }, [run]);
  useEffect(() => {
    if (!data || !isOf) return;
    const missedAfter = seam.current;
    seam.current = null;
    setLog(known => withNewest(known, data, missedAfter));
  }, [data, isOf, run]);
  const showOlder = async () => {
    try {
      const page = await call('list_events', { run, limit: LIMIT, before: log.next ?? undefined });
      setLog(known => withOlder(known, page));
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      // What is shown stays; the button is still there.
    }
  };
  return {
    events: log.events,
    error,
    isLoading: isLoading || (data !== undefined && log === NO_EVENTS),
    reload,
    showOlder: log.next !== null ? () => void showOlder() : null,
  };
}
