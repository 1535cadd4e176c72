import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Event } from '../../../../src/schema/event.ts';
import { isAtReviewLimit } from '../../../../src/schema/shown-status.ts';
import { ApiError, call } from '../../../state/api.ts';
import { onChanges } from '../../../state/live.ts';
import { useQuery } from '../../../state/query.ts';
import { Button } from '../../../ui/button.tsx';
import { Empty } from '../../../ui/empty.tsx';
import { Problem } from '../../../ui/problem.tsx';
import { ChangedFiles, RunAnswer } from './answer.tsx';
import { NO_EVENTS, withNewer, withNewest, withOlder } from './event-log.ts';
import { FailureCard } from './failure-card.tsx';
import { OpenQuestions } from './open-questions.tsx';
import type { ShownRun } from './shown-run.ts';
import { StepRow } from './step-row.tsx';
import { stepsOf } from './steps.ts';

const LIMIT = 500;

interface RunEvents {
  /** Events without a gap, oldest first. */
  events: readonly Event[];
  error: ApiError | null;
  isLoading: boolean;
  /** Loads older events. Null if all are shown. */
  showOlder: (() => void) | null;
  reload(): void;
}

/** Events of a run. Loads new events while the tab is open and requests no event twice. */
function useRunEvents(run: string): RunEvents {
  const { data, isOf, error, isLoading, reload } = useQuery('list_events', { run, limit: LIMIT });
  const [log, setLog] = useState(NO_EVENTS);
  /** Number of the last event before a gap in the received events. Null if there is no gap. */
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
      // The loaded events and the button stay, so that the user can try again.
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

/** The answer and the changed files first, then the steps of the agent. */
export function ActivityTab({ data }: { data: ShownRun }) {
  const { run, result } = data;
  const { events, error, isLoading, showOlder, reload } = useRunEvents(run.id);
  const steps = useMemo(() => stepsOf(events), [events.length, events.at(-1)?.seq]);
  const hasAnswer = result.result !== null && result.result !== '';
  const list = (
    <>
      {error && <Problem error={error} onRetry={reload} />}
      {showOlder && (
        <p>
          <Button onClick={showOlder}>Show older</Button>
        </p>
      )}
      {steps.length > 0 ? (
        <ol class="steps" aria-label="Steps">
          {steps.map(step => (
            <StepRow key={step.key} step={step} />
          ))}
        </ol>
      ) : (
        !isLoading &&
        !error && (
          <Empty title="No activity yet">
            The run is {run.status}. Its activity appears here as it happens.
          </Empty>
        )
      )}
    </>
  );
  return (
    <div class="activity">
      <OpenQuestions runId={run.id} />
      {run.error && !isAtReviewLimit(run) && <FailureCard data={data} />}
      <RunAnswer data={data} />
      <ChangedFiles run={run} />
      {hasAnswer && run.endedAt !== null ? (
        <details class="steps-fold">
          <summary>{showOlder ? `Steps (more than ${steps.length})` : `Steps (${steps.length})`}</summary>
          {list}
        </details>
      ) : (
        list
      )}
    </div>
  );
}
