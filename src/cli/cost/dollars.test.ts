import { expect, test } from 'vitest';
import { dollars } from './cost.ts';

test('an amount is a number, with or without a dollar sign', () => {
  expect([dollars('--budget', '2'), dollars('--budget', '$0.5')]).toEqual([2, 0.5]);
});

test.each(['', ' ', '0', '-1', 'much', 'Infinity', '1,5'])('%j is not an amount', text => {
  expect(() => dollars('--budget', text)).toThrow(
    expect.objectContaining({
      code: 'INVALID_INPUT',
      suggestions: ['Use an amount in US dollars above 0, for example `--budget 0.50`.'],
    }),
  );
});
