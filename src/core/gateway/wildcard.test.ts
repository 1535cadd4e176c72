import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkProperty } from '../testing/check-property.ts';
import { matchesWildcard } from './tool-names.ts';

test.each([
  ['', '', true],
  ['', 'a', false],
  ['*', '', true],
  ['*', 'a\nb', true],
  ['a', 'a', true],
  ['a', 'A', false],
  ['a*', 'ba', false],
  ['*a', 'ab', false],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['*ab*b', 'ab', false],
  ['*ab*b', 'xabb', true],
  ['a*b*c', 'a1b2b3c', true],
  ['a*b*c', 'acb', false],
  ['**', '', true],
  ['a.c', 'abc', false],
  ['[a]*', '[a]x', true],
  ['(a+)+$', '(a+)+$', true],
])('%j against %j is %j', (pattern, text, matches) => {
  expect(matchesWildcard(pattern, text)).toBe(matches);
});

test('a match is what a backtracking search finds', () => {
  const of = (letters: string[]) =>
    fc.array(fc.constantFrom(...letters), { maxLength: 8 }).map(all => all.join(''));
  const slowly = (pattern: string, text: string): boolean => {
    if (pattern === '') return text === '';
    const rest = pattern.slice(1);
    if (pattern[0] !== '*') return text[0] === pattern[0] && slowly(rest, text.slice(1));
    return slowly(rest, text) || (text !== '' && slowly(pattern, text.slice(1)));
  };
  checkProperty(
    fc.property(of(['a', 'b', '*', '*']), of(['a', 'b']), (pattern, text) => {
      expect(matchesWildcard(pattern, text)).toBe(slowly(pattern, text));
    }),
  );
});

test('a pattern of many stars is done with on a long text', {
  tags: ['schema-bombs-and-patterns-that-never-end'],
}, () => {
  expect(matchesWildcard(`${'a*'.repeat(2_000)}b`, 'a'.repeat(1_000_000))).toBe(false);
  expect(matchesWildcard(`${'*aaaaaaaa'.repeat(200)}*b*`, 'a'.repeat(1_000_000))).toBe(false);
});
