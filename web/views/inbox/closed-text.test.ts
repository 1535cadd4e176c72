import { expect, test } from 'vitest';
import { outcomeWords, SETTLED_LOOKS, settledOf } from './closed-text.ts';

test('only what somebody answered has a check', () => {
  expect(Object.entries(SETTLED_LOOKS).filter(([, { icon }]) => icon === 'check')).toEqual([
    ['answered', SETTLED_LOOKS.answered],
  ]);
  expect(settledOf(undefined)).toBe('unknown');
  expect(settledOf({ state: 'expired' })).toBe('expired');
});

test('what nobody answered says so, even where a default counted', () => {
  const by = { who: 'default' as const, via: null };
  expect(outcomeWords({ state: 'expired', answer: 'no', answeredBy: by })).toBe(
    'nobody answered, default “no” used',
  );
  expect(outcomeWords({ state: 'withdrawn', answer: null, answeredBy: null })).toBe(
    'the agent no longer waits for it',
  );
  expect(
    outcomeWords({ state: 'answered', answer: 'a\u202eb', answeredBy: { who: 'user', via: 'page' } }),
  ).toBe('a<U+202E>b · you, in the web UI');
});
