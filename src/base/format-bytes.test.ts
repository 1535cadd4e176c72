import { expect, test } from 'vitest';
import { formatBytes } from './text.ts';

test('what is small is told exactly, and the rest in the unit it fills', () => {
  expect([0, 1, 11, 1023].map(formatBytes)).toEqual(['0 bytes', '1 byte', '11 bytes', '1023 bytes']);
  expect([1024, 5 * 1024 ** 2, 3 * 1024 ** 3].map(formatBytes)).toEqual(['1 KiB', '5.0 MiB', '3.00 GiB']);
});
