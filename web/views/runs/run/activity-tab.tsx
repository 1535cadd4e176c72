import { useMemo } from 'preact/hooks';
import { isAtReviewLimit } from '../../../../src/schema/shown-status.ts';
import { Button } from '../../../ui/button.tsx';
import { Copy } from '../../../ui/copy.tsx';
import { Empty } from '../../../ui/empty.tsx';
import { Plain } from '../../../ui/plain.tsx';
import { Problem } from '../../../ui/problem.tsx';
import { FailureCard } from './failure-card.tsx';
import { OpenQuestions } from './open-questions.tsx';
import type { ShownRun } from './shown-run.ts';
import { StepRow } from './step-row.tsx';
import { stepsOf } from './steps.ts';
import { useRunEvents } from './use-run-events.ts';

/** What it did, step by step, and what came of it. */
export function ActivityTab({ data }: { data: ShownRun }) {
  const { run, result } = data;
  const { events, error, isLoading, showOlder, reload } = useRunEvents(run.id);
  const steps = useMemo(() => stepsOf(events), [events.length, events.at(-1)?.seq]);
  return (
    <div class="activity">
      <OpenQuestions runId={run.id} />
      {run.error && !isAtReviewLimit(run) && <FailureCard data={data} />}
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
          <Empty title="Nothing happened yet">
            It is {run.status}. What it does is shown here as it happens.
          </Empty>
        )
      )}
      {result.result !== null && result.result !== '' && (
        <section class="answer" aria-labelledby="answer-title">
          <h2 id="answer-title">
            Answer <Copy text={result.result} label="answer" />
          </h2>
          <Plain text={result.result} />
          {result.truncated && (
            <p class="soft">
              Its middle is left out here; <a href={`/r/${run.id}/output`}>the output</a> has all of it.
            </p>
          )}
        </section>
      )}
    </div>
  );
}
