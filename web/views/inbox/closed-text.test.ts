import { expect, test } from 'vitest';
import { CLOSED_STYLES, closedState, describeOutcome } from './closed-text.ts';

test('only what somebody answered has a check', () => {
  expect(Object.entries(CLOSED_STYLES).filter(([, { icon }]) => icon === 'check')).toEqual([
    ['answered', CLOSED_STYLES.answered],
  ]);
  expect(closedState(undefined)).toBe('unknown');
  expect(closedState({ state: 'expired' })).toBe('expired');
});

test('an unanswered item says so, even where a default counted', () => {
  const by = { who: 'default' as const, via: null };
  expect(describeOutcome({ state: 'expired', answer: 'no', answeredBy: by })).toBe(
    'nobody answered, default “no” used',
  );
  expect(describeOutcome({ state: 'withdrawn', answer: null, answeredBy: null })).toBe(
    'the agent no longer waits for an answer',
  );
  expect(
    describeOutcome({ state: 'answered', answer: 'a\u202eb', answeredBy: { who: 'user', via: 'page' } }),
  ).toBe('a<U+202E>b · you, in the web UI');
});
