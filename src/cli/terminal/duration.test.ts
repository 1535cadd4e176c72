import { expect, test } from 'vitest';
import { formatClock, formatDateTime, formatDuration, formatElapsed } from './duration.ts';

test.each([
  [-5, '0.0s', '0s'],
  [440, '0.4s', '0s'],
  [9_990, '9.9s', '9s'],
  [55_900, '55s', '55s'],
  [59_999, '59s', '59s'],
  [90_000, '1m30s', '1m30s'],
  [249_000, '4m09s', '4m09s'],
  [7_500_000, '2h05m', '2h05m'],
  [273_600_000, '3d04h', '3d04h'],
])('%i ms', (ms, took, elapsed) => {
  expect(formatDuration(ms)).toBe(took);
  expect(formatElapsed(ms)).toBe(elapsed);
});

test('the clock shows local time', () => {
  expect(formatClock(new Date(2026, 0, 2, 9, 4, 1).getTime())).toBe('09:04:01');
});

test('a date is in local time and independent of the locale', () => {
  expect(formatDateTime(new Date(2026, 0, 2, 9, 4, 1).getTime())).toBe('2026-01-02 09:04:01');
});
