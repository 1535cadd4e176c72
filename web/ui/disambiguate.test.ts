import { expect, test } from 'vitest';
import { disambiguate } from './disambiguate.ts';

test('choices that differ to the eye are as they are', () => {
  expect(disambiguate(['sqlite', 'postgres', 'Ünder\u202e'])).toEqual([
    'sqlite',
    'postgres',
    'Ünder<U+202E>',
  ]);
});

test.each([
  ['a letter of another alphabet', 'y\u0435s', '2: y<U+0435>s'],
  ['a character that is not seen', 'yes\u200d', '2: yes<U+200D>'],
  ['a space at its end', 'yes ', '2: yes<U+0020>'],
  ['nothing at all', 'yes', '2: yes'],
])('two that differ by %s are shown differently', (_, other, shown) => {
  expect(disambiguate(['yes', other, 'no'])).toEqual(['1: yes', shown, 'no']);
});
