import { expect, test } from 'vitest';
import { HubSettings } from '../../schema/config.ts';
import type { RunId } from '../../schema/ids.ts';
import { ReviewOutcome } from '../../schema/review.ts';
import { aReview, aRun, aSquad } from '../../store/fixtures/sample-rows.ts';
import {
  describeFailedRounds,
  limitReached,
  mustAbandon,
  refuseBeyondLimit,
  roundsLeft,
  roundsOf,
  wasUnsuccessful,
} from './rounds.ts';

const settings = HubSettings.parse({});
const run = aRun(aSquad());
const rounds = (...outcomes: (ReviewOutcome | null)[]) =>
  outcomes.map((outcome, i) => aReview(run, run, { iteration: i + 1, outcome }));

test('every review counts against the limit; one that sent the work back is not one that failed', () => {
  const inVain = ReviewOutcome.options.filter(outcome => wasUnsuccessful({ outcome }));
  expect(inVain).toEqual(['needs_work', 'no_feedback', 'error', 'timeout']);
  expect(wasUnsuccessful({ outcome: null })).toBe(false);
  expect(roundsOf(rounds('needs_work', 'cancelled', 'timeout', null), null, settings)).toEqual({
    ...{ current: 4, max: 3, sentBack: 1, failed: 1, abandonAfter: 5 },
  });
  expect(roundsOf([], null, settings)).toMatchObject({ current: 0, sentBack: 0, failed: 0 });
});

test('the limit of a task comes before the setting, in both directions', () => {
  const settle = (own: number | null) => roundsLeft(roundsOf(rounds('approved', 'approved'), own, settings));
  expect([settle(null), settle(5), settle(1)]).toEqual([1, 3, 0]);
});

test('at the limit the refusal is word for word what callers know', { tags: ['D5'] }, () => {
  const id = 'run_0123456789' as RunId;
  const refusal = () =>
    refuseBeyondLimit(roundsOf(rounds('needs_work', 'needs_work', 'needs_work'), null, settings), id);
  expect(refusal).toThrow(
    expect.objectContaining({
      code: 'REVIEW_LIMIT_EXCEEDED',
      message: 'Maximum review iterations (3) reached for agent run_0123456789',
      suggestions: [
        'Create pull request with current work',
        'Abandon this approach and try different solution',
        'Manually review and fix issues before requesting review',
      ],
      details: { current_iteration: 3, max_iterations: 3 },
    }),
  );
  expect(() => refuseBeyondLimit(roundsOf(rounds('needs_work'), null, settings), id)).not.toThrow();
});

test('a coder that completed at the limit leaves a decision unless its last review approved', () => {
  const id = 'run_0123456789' as RunId;
  const left = (outcome: ReviewOutcome | null, some: { count?: number; wasRefused?: boolean } = {}) => {
    const { count = 3, wasRefused = false } = some;
    const outcomes = Array<ReviewOutcome>(count).fill('needs_work');
    const last = outcome === null ? null : { outcome };
    return limitReached(roundsOf(rounds(...outcomes), null, settings), id, { last, wasRefused });
  };
  expect(left('needs_work')).toMatchObject({
    code: 'REVIEW_LIMIT_EXCEEDED',
    message: expect.stringContaining(`(3) reached, and the last one ended with needs_work. Decide`),
  });
  for (const open of ['suggestions', 'clarification', 'no_feedback', 'error', 'timeout'] as const)
    expect(left(open)).not.toBeNull();
  for (const closed of ['approved', 'pull_request', 'cancelled'] as const) expect(left(closed)).toBeNull();
  expect(left('needs_work', { count: 2 })).toBeNull();
  expect(left(null)).toBeNull();
  expect(left(null, { wasRefused: true })).toMatchObject({ code: 'REVIEW_LIMIT_EXCEEDED' });
});

test('a task is given up when as many reviews were in vain as are allowed to, and says in which way', () => {
  const given = (failed: number) =>
    mustAbandon(
      roundsOf(rounds('needs_work', ...Array<ReviewOutcome>(failed).fill('timeout')), null, settings),
    );
  expect([given(3), given(4), given(5)]).toEqual([false, true, true]);
  expect(describeFailedRounds({ sentBack: 2, failed: 0 })).toBe('2 reviews of this task sent it back.');
  expect(describeFailedRounds({ sentBack: 0, failed: 1 })).toBe('1 review of this task failed.');
  expect(describeFailedRounds({ sentBack: 1, failed: 4 })).toBe(
    '1 review of this task sent it back, 4 failed.',
  );
});
