import type { z } from 'zod';
import { visibleLine } from '../../base/text.ts';
import type { ShownReview } from '../../operations/review/show-review.ts';
import type { ReviewOutcome } from '../../schema/review.ts';
import { formatDuration } from '../terminal/duration.ts';
import type { Style } from '../terminal/style.ts';
import { formatTable } from '../terminal/table.ts';

type Review = z.output<typeof ShownReview>;

const OUTCOMES: Record<ReviewOutcome, { text: string; paint: 'red' | 'green' | 'yellow' }> = {
  needs_work: { text: 'needs work', paint: 'yellow' },
  suggestions: { text: 'suggestions', paint: 'green' },
  clarification: { text: 'clarification', paint: 'yellow' },
  approved: { text: 'approved', paint: 'green' },
  pull_request: { text: 'pull request', paint: 'green' },
  no_feedback: { text: 'no feedback', paint: 'red' },
  error: { text: 'failed', paint: 'red' },
  timeout: { text: 'timeout', paint: 'red' },
  cancelled: { text: 'cancelled', paint: 'yellow' },
};

export const outcomeText = (outcome: ReviewOutcome, style: Style): string => {
  const { text, paint } = OUTCOMES[outcome];
  return style[paint](text);
};

/** One round per line; `withCoder` adds the coder where the rounds belong to several runs. */
export function reviewTable(
  reviews: readonly Review[],
  { withCoder, now }: { withCoder: boolean; now: number },
  columns: number,
  style: Style,
): string[] {
  return formatTable(
    [
      { title: 'round', align: 'right' },
      ...(withCoder ? [{ title: 'coder' }] : []),
      { title: 'reviewer' },
      { title: 'outcome' },
      { title: 'asked', align: 'right' },
      { title: 'took', align: 'right' },
      { title: 'feedback', shrinkTo: 0 },
    ],
    reviews.map(review => [
      String(review.iteration),
      ...(withCoder ? [review.coderId] : []),
      review.reviewerId,
      review.outcome === null ? style.bold('running') : outcomeText(review.outcome, style),
      `${formatDuration(now - review.requestedAt)} ago`,
      formatDuration((review.closedAt ?? now) - review.requestedAt) + (review.closedAt === null ? '…' : ''),
      firstLine(review.feedback ?? review.reason),
    ]),
    columns,
    style,
  );
}

const firstLine = (text: string | null): string => visibleLine(text?.trim().split('\n', 1)[0] ?? '') || '–';
