import '../views.css';
import './reviews.css';
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { Output } from '../../../src/operations/operations.ts';
import type { ReviewOutcome } from '../../../src/schema/review.ts';
import { useKeys } from '../../keys.ts';
import type { Changes } from '../../state/live.ts';
import { useQuery } from '../../state/query.ts';
import { workspace } from '../../state/workspace.ts';
import { Button } from '../../ui/button.tsx';
import { useChosen } from '../../ui/chosen.ts';
import { Empty } from '../../ui/empty.tsx';
import { HiddenWarning } from '../../ui/hidden-warning.tsx';
import { PageHead, Section, Sheet } from '../../ui/layout.tsx';
import { Plain, PlainLine } from '../../ui/plain.tsx';
import { Problem } from '../../ui/problem.tsx';
import { StatusWord } from '../../ui/status.tsx';
import { Ago, Duration } from '../../ui/time.tsx';
import { Decide } from './decide.tsx';

const OUTCOMES: Record<ReviewOutcome, string> = {
  approved: 'approved',
  needs_work: 'sent back',
  suggestions: 'suggestions',
  clarification: 'asked for clarification',
  pull_request: 'pull request',
  no_feedback: 'no feedback',
  error: 'reviewer failed',
  timeout: 'timed out',
  cancelled: 'cancelled',
};

export type Review = Output<'list_reviews'>['reviews'][number];

/** `/reviews`: open reviews, then closed ones. */
export function ReviewsPage() {
  const { route } = useLocation();
  const input = workspace.value === null ? {} : { workspace: workspace.value };
  const { data, error, reload } = useQuery('list_reviews', input, { refreshOn });
  const [deciding, setDeciding] = useState<{ review: Review; isApproval: boolean } | null>(null);
  const open = data?.reviews.filter(({ outcome }) => outcome === null) ?? [];
  const over = data?.reviews.filter(({ outcome }) => outcome !== null) ?? [];
  const { current, choose, moves } = useChosen(open, 'review');
  const decide = (isApproval: boolean) => current && setDeciding({ review: current, isApproval });
  const has = () => current !== undefined;
  useKeys([
    ...moves,
    {
      key: 'enter',
      what: 'Read the changes of this review',
      run: () => route(`/r/${current!.coderId}/changes`),
      when: has,
    },
    { key: 'a', what: 'Approve this review', run: () => decide(true), when: has },
    { key: 'b', what: 'Send this review back', run: () => decide(false), when: has },
  ]);

  if (error && !data) return <Problem error={error} onRetry={reload} />;
  return (
    <div class="reviews">
      <PageHead title="Reviews">
        Review rounds between coders and their reviewers. Your decision closes a round in place of the
        reviewer.
      </PageHead>
      {data && data.reviews.length === 0 && (
        <Empty title="No reviews yet" command={'squad run coder "A task" --worktree'}>
          A coder whose role has <code>type: coding</code> requests a review when it is done. Squad then
          starts a reviewer in its own work tree.
        </Empty>
      )}
      {open.length > 0 && (
        <Section title="Open">
          <ul class="open-reviews">
            {open.map((review, index) => (
              <OpenReview
                key={review.id}
                review={review}
                isCurrent={review === current}
                onChoose={() => choose(index)}
                onDecide={isApproval => setDeciding({ review, isApproval })}
              />
            ))}
          </ul>
        </Section>
      )}
      {data && open.length === 0 && over.length > 0 && <p class="soft page-part">No open reviews.</p>}
      {over.length > 0 && <Closed reviews={over} />}
      {deciding && <Decide {...deciding} onDone={reload} onClose={() => setDeciding(null)} />}
    </div>
  );
}

const refreshOn = ({ events, runs }: Changes) =>
  events.some(({ body }) => body.type.startsWith('review.')) ||
  runs.some(({ reviewOf }) => reviewOf !== null);

interface OpenReviewProps {
  review: Review;
  isCurrent: boolean;
  onChoose(): void;
  onDecide(isApproval: boolean): void;
}

function OpenReview({ review, isCurrent, onChoose, onDecide }: OpenReviewProps) {
  const rounds = useQuery('show_review', { run: review.coderId }).data?.rounds;
  return (
    <li class={isCurrent ? 'open-review current' : 'open-review'} onFocusIn={onChoose}>
      <p class="open-review-title">
        <a href={`/r/${review.coderId}/changes`}>
          <PlainLine text={review.title ?? review.coderId} />
        </a>
        <span class="num soft">
          round {review.iteration}
          {rounds && ` of ${rounds.max}`}
        </span>
      </p>
      <p class="soft">
        <a href={`/r/${review.coderId}`}>{review.coder ?? 'coder'}</a> · reviewed by{' '}
        <a href={`/r/${review.reviewerId}`}>{review.reviewer ?? 'reviewer'}</a>{' '}
        {review.reviewerStatus && <StatusWord status={review.reviewerStatus} />} · open for{' '}
        <Duration from={review.requestedAt} /> · due <Ago at={review.deadlineAt} />
      </p>
      {review.completionMessage && <Plain text={review.completionMessage} />}
      <HiddenWarning text={review.completionMessage ?? ''} where="This message" />
      <p class="page-tools">
        <Button tone="main" keyName={isCurrent ? 'a' : undefined} onClick={() => onDecide(true)}>
          Approve
        </Button>
        <Button keyName={isCurrent ? 'b' : undefined} onClick={() => onDecide(false)}>
          Send back
        </Button>
        <a href={`/r/${review.coderId}/review`}>Rounds</a>
      </p>
    </li>
  );
}

function Closed({ reviews }: { reviews: readonly Review[] }) {
  return (
    <Section title="Closed">
      <Sheet columns={['task', '#round', 'outcome', 'by', 'closed']}>
        {reviews.map(review => (
          <tr key={review.id}>
            <td class="wide">
              <a href={`/r/${review.coderId}/review`}>
                <PlainLine text={review.title ?? review.coderId} />
              </a>
            </td>
            <td class="num" data-name="round">
              {review.iteration}
            </td>
            <td>
              {review.outcome === null ? 'open' : OUTCOMES[review.outcome]}
              {review.reason && (
                <span class="soft">
                  {' · '}
                  <PlainLine text={review.reason} />
                </span>
              )}
            </td>
            <td data-name="by">{review.feedbackBy === 'user' ? 'you' : (review.reviewer ?? 'reviewer')}</td>
            <td>{review.closedAt !== null && <Ago at={review.closedAt} />}</td>
          </tr>
        ))}
      </Sheet>
    </Section>
  );
}
