import { expect, test } from 'vitest';
import { changeSetting } from './change-setting.ts';

test('the length of a value is limited: it is written into an event that every client gets', () => {
  const isTaken = (length: number) =>
    changeSetting.input.safeParse({ key: 'limits.depth', value: 'x'.repeat(length) }).success;
  expect([isTaken(10_000), isTaken(10_001)]).toEqual([true, false]);
});
