import { useEffect, useState } from 'preact/hooks';
import type { Event } from '../../../../src/schema/event.ts';
import { onChanges } from '../../../state/live.ts';
import { useQuery } from '../../../state/query.ts';
import { now } from '../../../ui/clock.ts';
import { shownDuration } from '../../../ui/figures.ts';
import { type Reading, readingsIn, stepsOf } from './burn-steps.ts';

/** Maximum number of events per request. For a longer run only the last part of the curve is shown. */
const LIMIT = 1_000;

/** Usage of a run over time, from its stored activity and from the events that arrive while the page is open. */
function useReadings(run: string): Reading[] {
  const { data } = useQuery('list_events', { run, types: ['run.activity'], limit: LIMIT });
  const [fresh, setFresh] = useState<readonly Event[]>([]);
  useEffect(() => {
    setFresh([]);
    return onChanges(({ events }) => {
      const own = events.filter(({ runId, body }) => runId === run && body.type === 'run.activity');
      if (own.length > 0) setFresh(known => [...known, ...own].slice(-LIMIT));
    });
  }, [run]);
  return readingsIn([...(data?.events ?? []), ...fresh]);
}

interface CurveProps {
  run: { id: string; startedAt: number | null; endedAt: number | null };
  measure: 'tokens' | 'costUsd';
  /** The run's total now. */
  total: number;
  /** Value of the dashed line. Null if the run has no budget. */
  budget: number | null;
  shown(amount: number): string;
}

/** Curve of the tokens or the cost of a run, with a line for its budget. Empty until the run has reported twice. */
export function BurnCurve({ run, measure, total, budget, shown }: CurveProps) {
  const readings = useReadings(run.id);
  const { startedAt } = run;
  if (startedAt === null) return null;
  const until = run.endedAt ?? now.value;
  const steps = stepsOf(readings, { measure, from: startedAt, until, total });
  if (steps.length < 2) return null;
  const most = Math.max(total, budget ?? 0);
  const duration = Math.max(1, until - startedAt);
  const x = (at: number) => (((at - startedAt) / duration) * 100).toFixed(2);
  const y = (amount: number) => (100 - (amount / most) * 100).toFixed(2);
  const line = steps.map(
    ({ at, amount }, index) => `${index === 0 ? 'M' : 'H'}${x(at)}${index === 0 ? ' ' : 'V'}${y(amount)}`,
  );
  const ofBudget = budget === null ? '' : ` of ${shown(budget)}`;
  return (
    <figure class="burn-curve">
      <svg
        viewBox="0 0 100 100"
        preserveAspectRatio="none"
        role="img"
        aria-label={`${shown(total)}${ofBudget} after ${shownDuration(duration)}`}
      >
        <path class="burn-area" d={`${line.join('')}H100V100H0Z`} />
        <path
          class={`burn-line ${budget !== null && total > budget ? 'is-over' : ''}`}
          d={`${line.join('')}H100`}
        />
        {budget !== null && <path class="burn-budget" d={`M0 ${y(budget)}H100`} />}
      </svg>
      <figcaption class="soft">
        <span>{shownDuration(0)}</span>
        {budget !== null && <span>dashed: budget {shown(budget)}</span>}
        <span>{shownDuration(duration)}</span>
      </figcaption>
    </figure>
  );
}
