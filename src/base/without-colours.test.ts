import { expect, test } from 'vitest';
import { withoutColours } from './text.ts';

test('colours are left out', () => {
  expect(withoutColours('\u001b[1;31mred\u001b[0m and \u001b[38:2::1:2:3mother\u001b[m')).toBe(
    'red and other',
  );
});

test.each([
  '\u001b[2K',
  '\u001b[?25l',
  '\u001b[1A',
  '\u001b(B',
  '\u009b31m',
  '\u001b]0;words\u0007',
  '\u001b[r',
])('%j stays, to be shown', sequence => {
  expect(withoutColours(`a${sequence}b`)).toBe(`a${sequence}b`);
});
