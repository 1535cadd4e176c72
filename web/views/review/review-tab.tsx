import { useState } from 'preact/hooks';
import type { Output } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { call } from '../../state/api.ts';
import { useQuery } from '../../state/query.ts';
import { saved } from '../../state/saved.ts';
import { Button } from '../../ui/button.tsx';
import { Command, Copy } from '../../ui/copy.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { HiddenWarning } from '../../ui/hidden-warning.tsx';
import { Loading } from '../../ui/layout.tsx';
import { Plain, PlainLine } from '../../ui/plain.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Ago, Duration } from '../../ui/time.tsx';
import { DiffFiles } from '../evidence/diff-files.tsx';
import { Notes } from '../notes.tsx';
import { notifyResult } from '../notify-result.ts';
import { RunLink } from '../runs/run/run-link.tsx';
import type { ShownRun } from '../runs/run/shown-run.ts';

type Review = Output<'show_review'>['reviews'][number];

/** Rounds of the task side by side: the request, the feedback, and the changes in between. */
export function ReviewTab({ data }: { data: ShownRun }) {
  const { run } = data;
  const {
    data: answer,
    error,
    reload,
  } = useQuery(
    'show_review',
    { run: run.id },
    { refreshOn: ({ events }) => events.some(({ body }) => body.type.startsWith('review.')) },
  );
  const [isAllowing, setAllowing] = useState(false);
  const [more, setMore] = useState(3);
  if (error && !answer) return <Problem error={error} onRetry={reload} />;
  if (!answer) return <Loading />;
  const { reviews, rounds } = answer;
  const wanted = Math.max(rounds.current, rounds.max) + more;
  return (
    <section class="review" aria-label="Review rounds">
      <p class="review-tools">
        <span>
          Round {rounds.current} of {rounds.max}
          {rounds.sentBack > 0 && `, ${rounds.sentBack} sent back`}
          {rounds.failed > 0 && `, ${rounds.failed} failed`}
          {rounds.sentBack + rounds.failed > 0 &&
            `; the task is abandoned after ${rounds.abandonAfter} of these`}
        </span>
        {!saved && <Button onClick={() => setAllowing(true)}>Allow more rounds</Button>}
        <Command text={`squad review ${shellWord(run.id)}`} />
      </p>
      {reviews.length === 0 ? (
        <Empty title="No review yet">The agent calls request_review when it considers its work done.</Empty>
      ) : (
        <ol class="rounds">
          {reviews.map(review => (
            <Round key={review.id} review={review} />
          ))}
        </ol>
      )}
      {isAllowing && (
        <Confirm
          title="Allow more rounds"
          effect={`The task may have up to ${wanted} rounds of review instead of ${rounds.max}.`}
          command={`squad review ${shellWord(run.id)} --allow ${more}`}
          yes="Allow"
          tone="main"
          onYes={() =>
            notifyResult(call('steer_review', { run: run.id, action: 'allow', rounds: more }), after => {
              reload();
              return `Up to ${after.rounds.max} rounds are allowed now.`;
            })
          }
          onClose={() => setAllowing(false)}
        >
          <label>
            How many more rounds{' '}
            <input
              type="number"
              min="1"
              max="100"
              value={more}
              onInput={event => setMore(Math.max(1, Math.min(100, Number(event.currentTarget.value) || 1)))}
            />
          </label>
        </Confirm>
      )}
    </section>
  );
}

function Round({ review }: { review: Review }) {
  const [isOpen, setOpen] = useState(false);
  const tone = review.outcome === null ? 'busy' : TONES[review.outcome];
  return (
    <li class="round">
      <h2>
        Round {review.iteration}{' '}
        <span class={`tone-${tone}`}>
          {review.outcome === null ? 'in progress' : review.outcome.replaceAll('_', ' ')}
        </span>
      </h2>
      <p class="soft">
        <RunLink id={review.coderId} /> asked <Ago at={review.requestedAt} />, reviewer{' '}
        <RunLink id={review.reviewerId} />
        {review.closedAt !== null ? (
          <>
            , took <Duration from={review.requestedAt} to={review.closedAt} />
          </>
        ) : (
          <>
            , due <Ago at={review.deadlineAt} />
          </>
        )}
      </p>
      <p>
        <Copy text={review.commit} label="commit" isShown />
      </p>
      {review.completionMessage && (
        <blockquote>
          <Plain text={review.completionMessage} />
        </blockquote>
      )}
      {review.reason && (
        <p class="tone-bad">
          <PlainLine text={review.reason} />
        </p>
      )}
      {review.feedback && (
        <div class="feedback">
          <p class="soft">
            {review.feedbackBy === 'user' ? 'Feedback from a person' : 'Feedback from the reviewer'}
            {review.priority && (
              <>
                , <PlainLine text={`priority ${review.priority}`} />
              </>
            )}
          </p>
          <Plain text={review.feedback} />
        </div>
      )}
      {review.actionableItems.length > 0 && (
        <ul>
          {review.actionableItems.map((item, index) => (
            <li key={index}>
              <PlainLine text={item} />
            </li>
          ))}
        </ul>
      )}
      <HiddenWarning
        text={[review.completionMessage, review.feedback, ...review.actionableItems].join('\n')}
        where="This round"
      />
      <Button isPressed={isOpen} onClick={() => setOpen(!isOpen)}>
        {review.iteration === 1 ? 'Changes' : 'Changes since the previous round'}
      </Button>
      {isOpen && <RoundDiff id={review.id} />}
    </li>
  );
}

const TONES: Record<NonNullable<Review['outcome']>, string> = {
  approved: 'good',
  pull_request: 'good',
  needs_work: 'ask',
  suggestions: 'ask',
  clarification: 'ask',
  no_feedback: 'bad',
  error: 'bad',
  timeout: 'bad',
  cancelled: 'off',
};

function RoundDiff({ id }: { id: string }) {
  const { data, error, reload } = useQuery('diff_review', { review: id });
  if (error && !data) return <Problem error={error} onRetry={reload} />;
  if (!data) return <p role="status">Comparing…</p>;
  return (
    <>
      <Notes notes={data.notes} />
      {data.text ? <DiffFiles text={data.text} commenting={null} /> : <p class="soft">No changes.</p>}
    </>
  );
}
