import { expect, test } from 'vitest';
import { wrap } from './width.ts';

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
