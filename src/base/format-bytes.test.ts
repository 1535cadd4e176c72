import { expect, test } from 'vitest';
import { formatBytes } from './text.ts';

test('small sizes are exact, larger ones use the largest unit that fits', () => {
  expect([0, 1, 11, 1023].map(formatBytes)).toEqual(['0 bytes', '1 byte', '11 bytes', '1023 bytes']);
  expect([1024, 5 * 1024 ** 2, 3 * 1024 ** 3].map(formatBytes)).toEqual(['1 KiB', '5.0 MiB', '3.00 GiB']);
});
