import { expect, test } from 'vitest';
import { backOffMs, withJitter } from './back-off.ts';

const DELAY = { first: 250, max: 5_000 };

test('each failure doubles the wait, up to the maximum and no further', () => {
  const waits = [0, 1, 2, 3, 4, 5, 6, 1000].map(failures => backOffMs(failures, DELAY));
  expect(waits).toEqual([250, 500, 1000, 2000, 4000, 5000, 5000, 5000]);
});

test('tabs that lost the hub at the same time do not reconnect at the same time', () => {
  const wait = backOffMs(3, DELAY);
  expect(withJitter(wait, 1)).toBe(2000);
  expect(withJitter(wait, 0)).toBe(1500);
  expect(withJitter(wait, 0.5)).toBe(1750);
});
