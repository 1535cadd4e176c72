import type { ReviewOutcome } from '../../../src/schema/review.ts';

const WORDS: Record<ReviewOutcome, string> = {
  approved: 'approved',
  needs_work: 'sent back',
  suggestions: 'suggestions',
  clarification: 'asked for clarification',
  pull_request: 'pull request',
  no_feedback: 'no feedback',
  error: 'reviewer failed',
  timeout: 'took too long',
  cancelled: 'cancelled',
};

export const outcomeWords = (outcome: ReviewOutcome | null): string =>
  outcome === null ? 'open' : WORDS[outcome];
