import type { z } from 'zod';
import { visibleLine } from '../../base/text.ts';
import type { ShownReview } from '../../operations/review/show-review.ts';
import type { ReviewOutcome } from '../../schema/review.ts';
import { formatDuration } from '../terminal/duration.ts';
import type { Style } from '../terminal/style.ts';
import { formatTable } from '../terminal/table.ts';

type Review = z.output<typeof ShownReview>;

const OUTCOMES: Record<ReviewOutcome, { word: string; paint: 'red' | 'green' | 'yellow' }> = {
  needs_work: { word: 'needs work', paint: 'yellow' },
  suggestions: { word: 'suggestions', paint: 'green' },
  clarification: { word: 'clarification', paint: 'yellow' },
  approved: { word: 'approved', paint: 'green' },
  pull_request: { word: 'pull request', paint: 'green' },
  no_feedback: { word: 'no feedback', paint: 'red' },
  error: { word: 'failed', paint: 'red' },
  timeout: { word: 'timeout', paint: 'red' },
  cancelled: { word: 'cancelled', paint: 'yellow' },
};

export const outcomeWord = (outcome: ReviewOutcome, style: Style): string => {
  const { word, paint } = OUTCOMES[outcome];
  return style[paint](word);
};

/** Rounds, one a line, as they are given; whose they are where they are not all of one run. */
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
      review.outcome === null ? style.bold('under way') : outcomeWord(review.outcome, style),
      `${formatDuration(now - review.requestedAt)} ago`,
      formatDuration((review.closedAt ?? now) - review.requestedAt) + (review.closedAt === null ? '…' : ''),
      firstLine(review.feedback ?? review.reason),
    ]),
    columns,
    style,
  );
}

const firstLine = (text: string | null): string => visibleLine(text?.trim().split('\n', 1)[0] ?? '') || '–';
