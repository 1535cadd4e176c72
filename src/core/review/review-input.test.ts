import { expect, test } from 'vitest';
import { itemsOf } from './review-input.ts';

test('what is to be done has no entry with nothing in it', () => {
  expect(itemsOf(['Fix it', '', ' \n', 'Test it'])).toEqual(['Fix it', 'Test it']);
  expect(itemsOf(undefined)).toEqual([]);
});
