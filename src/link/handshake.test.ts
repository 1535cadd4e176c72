import { expect, test } from 'vitest';
import { isNewer } from './handshake.ts';

test.each([
  ['1.0.1', '1.0.0', true],
  ['1.10.0', '1.9.9', true],
  ['2.0.0', '1.99.99', true],
  ['1.0.0', '1.0.0', false],
  ['1.0.0', '1.0.1', false],
  ['0.9.0', '1.0.0', false],
  ['1.0.0-beta.2', '1.0.0', false],
  ['1.0.0', '1.0.0-beta.2', false],
  ['1.1', '1.0.9', true],
  ['nonsense', '0.0.1', false],
])('%s is newer than %s: %s', (a, b, expected) => {
  expect(isNewer(a, b)).toBe(expected);
});
