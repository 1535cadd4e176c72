import { expect, test } from 'vitest';
import { itemsOf } from './review-input.ts';

test('empty entries of the task are left out', () => {
  expect(itemsOf(['Fix it', '', ' \n', 'Test it'])).toEqual(['Fix it', 'Test it']);
  expect(itemsOf(undefined)).toEqual([]);
});
