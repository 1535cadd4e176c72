import { expect, test } from 'vitest';
import { changeSetting } from './change-setting.ts';

test('a value is no longer than a setting can sensibly be: it is written into an event that everybody is told', () => {
  const isTaken = (length: number) =>
    changeSetting.input.safeParse({ key: 'limits.depth', value: 'x'.repeat(length) }).success;
  expect([isTaken(10_000), isTaken(10_001)]).toEqual([true, false]);
});
