import { expect, test } from 'vitest';
import { sampleCard } from '../testing/sample-card.ts';
import { cardStyle } from './status-style.ts';

const quiet = { state: 'silent', since: 0, text: 'no sign for 5 minutes' } as const;

const LIMIT = { code: 'REVIEW_LIMIT_EXCEEDED', message: 'No more reviews' };

test.each([
  [
    'a limit of reviews is never simply done',
    { status: 'completed', need: 'done', error: LIMIT },
    'review limit',
  ],
  ['that it waits for somebody comes before all', { need: 'needs_you', quiet }, 'needs you'],
  ['then that it is being stopped', { isStopping: true, quiet }, 'stopping'],
  ['then that it gives no sign', { quiet }, 'silent'],
  ['a run that waits for its review is not silent', { status: 'waiting_review', quiet }, 'in review'],
  ['an old failure is still one', { status: 'error', need: 'done' }, 'failed'],
] as const)('%s', (_, different, word) => {
  expect(cardStyle(sampleCard({ id: 'a', ...different })).word).toBe(word);
});
