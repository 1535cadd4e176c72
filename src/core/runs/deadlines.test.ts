import { expect, test } from 'vitest';
import { Deadlines } from './turn-limits.ts';

const HOUR = 3_600_000;
const SPAN = { from: 10 * HOUR, until: 12 * HOUR };

/** `passed` since the hub started at `startedAt`; `setBy`: how far the clock was set meanwhile. */
function deadlinesFrom(startedAt: number) {
  const time = { passed: 0, setBy: 0 };
  const clock = { now: () => startedAt + time.passed + time.setBy, monotonic: () => time.passed };
  const deadlines = new Deadlines<string>(clock);
  return { time, left: () => deadlines.left('one', SPAN) };
}

test.each([
  ['an hour ahead', HOUR],
  ['an hour back', -HOUR],
])('a clock that is set %s changes nothing about the time left', { tags: ['R23'] }, (_, setBy) => {
  const { time, left } = deadlinesFrom(SPAN.from);
  expect(left()).toBe(2 * HOUR);
  time.setBy = setBy;
  expect(left()).toBe(2 * HOUR);
  time.passed = 2 * HOUR;
  expect(left()).toBe(0);
});

test('the next hub continues by the wall clock', () => {
  expect(deadlinesFrom(SPAN.from + 1.5 * HOUR).left()).toBe(0.5 * HOUR);
});

test('a deadline that was stored before the clock was set back has its whole time again, and no more', () => {
  expect(deadlinesFrom(SPAN.from - 24 * HOUR).left()).toBe(2 * HOUR);
});
