import { expect, test } from 'vitest';
import { harmless } from './harmless.ts';

test('control characters are seen, not obeyed', () => {
  expect(harmless('a\u001b[31mb\u0007')).toBe('a␛[31mb␇');
  expect(harmless('a\u007fb\u0085c')).toBe('a␡b<U+0085>c');
});

test('what turns the direction of text cannot', () => {
  expect(harmless('user\u202egnp.exe')).toBe('user<U+202E>gnp.exe');
});

test('lines and tabs stay', () => {
  expect(harmless('a\tb\r\nc')).toBe('a\tb\nc');
});
