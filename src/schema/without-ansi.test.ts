import { expect, test } from 'vitest';
import { withoutAnsi } from './without-ansi.ts';

test.each([
  ['colours', '\u001b[1;31mred\u001b[0m and \u001b[38:2::1:2:3mother\u001b[m', 'red and other'],
  ['moves', '\u001b[2K\u001b[?25lgone\u001b[1A', 'gone'],
  ['those of one character', '\u009b31mred', 'red'],
  ['a choice of characters', '\u001b(Bplain', 'plain'],
  ['a lone escape', 'a\u001bb', 'a\u001bb'],
  ['what has words in it', '\u001b]0;delete all\u0007yes', '\u001b]0;delete all\u0007yes'],
])('%s', (_, text, shown) => {
  expect(withoutAnsi(text)).toBe(shown);
});
