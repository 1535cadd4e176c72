import { describe, expect, test } from 'vitest';
import { shownAgo, shownCount, shownDuration, shownMoney } from './figures.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test.each([
  [0, '0s'],
  [59_999, '59s'],
  [90_000, '1m30s'],
  [2 * HOUR + 5 * MINUTE, '2h05m'],
  [76 * HOUR, '3d04h'],
  [-5, '0s'],
])('%i ms took %s', (ms, shown) => expect(shownDuration(ms)).toBe(shown));

describe('a time beside now', () => {
  test.each([
    [0, 'just now'],
    [-30_000, '30 s ago'],
    [-5 * MINUTE, '5 min ago'],
    [-3 * HOUR, '3 h ago'],
    [-50 * HOUR, '2 d ago'],
    [5 * MINUTE, 'in 5 min'],
    [5_000, 'in a moment'],
  ])('%i ms: %s', (ms, shown) => expect(shownAgo(1e12 + ms, 1e12)).toBe(shown));
});

test.each([
  [950, '950'],
  [1900, '1.9k'],
  [41_000, '41k'],
  [999_499, '999k'],
  [999_500, '1M'],
  [1_900_000, '1.9M'],
])('%i tokens are %s', (count, shown) => expect(shownCount(count)).toBe(shown));

test.each([
  [0, '$0'],
  [0.00001, '<$0.0001'],
  [0.0042, '$0.0042'],
  [1.924, '$1.92'],
])('%d dollars are %s', (usd, shown) => expect(shownMoney(usd)).toBe(shown));
