import { expect, test } from 'vitest';
import { displayWidth, padEnd, padStart, truncate, wrap } from './width.ts';

const RED = '\u001b[31m';
const OFF = '\u001b[39m';

test.each([
  ['plain', 5],
  ['né', 2],
  ['ne\u0301', 2],
  ['日本', 4],
  ['ｆｕ', 4],
  ['한글', 4],
  ['👩‍👩‍👧', 2],
  ['❤️', 2],
  ['🇫🇷', 2],
  ['✓ ◐ · …', 7],
  ['a\u200bb', 2],
  [`${RED}red${OFF}`, 3],
  ['\u001b[38;5;130mx\u001b[0m', 1],
  ['', 0],
])('%j takes %i columns', (text, width) => {
  expect(displayWidth(text)).toBe(width);
});

test('text that fits is left alone', () => {
  expect(truncate('abc', 3)).toBe('abc');
  expect(truncate('日本', 4)).toBe('日本');
  expect(truncate(`${RED}abc${OFF}`, 3)).toBe(`${RED}abc${OFF}`);
});

test('text that does not fit ends in an ellipsis, never in half a character', () => {
  expect(truncate('abcdef', 4)).toBe('abc…');
  expect(truncate('日本語', 4)).toBe('日…');
  expect(truncate('日本語', 5)).toBe('日本…');
  expect(truncate('a👩‍👩‍👧b', 2)).toBe('a…');
  expect(truncate('abc', 1)).toBe('…');
  expect(truncate('abc', 0)).toBe('');
});

test('a cut colour is closed', () => {
  expect(truncate(`${RED}abcdef${OFF}`, 4)).toBe(`${RED}abc…\u001b[0m`);
});

test('padding counts columns, not characters', () => {
  expect(padEnd('日本', 6)).toBe('日本  ');
  expect(padStart(`${RED}1${OFF}`, 3)).toBe(`  ${RED}1${OFF}`);
  expect(padEnd('long', 2)).toBe('long');
});

test('breaks between words, keeps line breaks, and lets a long word stand alone', () => {
  expect(wrap('one two three\n\nfour', 8)).toEqual(['one two', 'three', '', 'four']);
  expect(wrap('a incomprehensibilities b', 8)).toEqual(['a', 'incomprehensibilities', 'b']);
});

test('wide characters count as two columns', () => {
  expect(wrap('日本 語', 5)).toEqual(['日本', '語']);
});

test('does nothing without a limit', () => {
  expect(wrap('one two three', Number.POSITIVE_INFINITY)).toEqual(['one two three']);
});
