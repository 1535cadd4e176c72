import { expect, test } from 'vitest';
import { visibleText } from '../../src/base/text.ts';

test('control characters are seen, not obeyed', () => {
  expect(visibleText('a\u001b[31mb\u0007')).toBe('a␛[31mb␇');
  expect(visibleText('a\u007fb\u0085c')).toBe('a␡b<U+0085>c');
});

test('characters that turn the direction of text have no effect', () => {
  expect(visibleText('user\u202egnp.exe')).toBe('user<U+202E>gnp.exe');
});

test('lines and tabs stay', () => {
  expect(visibleText('a\tb\r\nc')).toBe('a\tb\nc');
});
