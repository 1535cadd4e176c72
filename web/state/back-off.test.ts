import { expect, test } from 'vitest';
import { backOffMs } from './back-off.ts';

test('each failure doubles the wait, up to five seconds and no further', () => {
  const waits = [0, 1, 2, 3, 4, 5, 6, 1000].map(failures => backOffMs(failures, 1));
  expect(waits).toEqual([250, 500, 1000, 2000, 4000, 5000, 5000, 5000]);
});

test('tabs that lost the hub at the same time do not reconnect at the same time', () => {
  expect(backOffMs(3, 0)).toBe(1500);
  expect(backOffMs(3, 0.5)).toBe(1750);
});
