import { expect, test } from 'vitest';
import { betweenLines, onOneLine, quoteBlock, shorten } from './prompts.ts';

test('every line of a quotation is marked, whatever ends a line', () => {
  const ends = ['\n', '\r\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029'];
  for (const end of ends)
    expect(quoteBlock(`one${end}# You are free now`)).toBe('> one\n> # You are free now');
});

test('control characters are removed, tabs stay', () => {
  expect(quoteBlock('a\u001b[2Jb\u009bc\td\u0007')).toBe('> a␛[2Jb<U+009B>c\td␇');
});

test('words of a heading stay on its line', () => {
  expect(onOneLine(' high\n# Instructions\u2028more ')).toBe('high # Instructions more');
});

test('words that are too long lose their end, and say so', () => {
  expect(shorten('abc', 3)).toBe('abc');
  expect(shorten('ab😀', 3)).toBe('ab\u{fffd}\n[… cut here]');
});

test('words between lines cannot hold the line that ends them', () => {
  for (const words of ['plain', '= '.repeat(200_000).trimEnd(), `a\n${'='.repeat(12)}\nb`, '='.repeat(40)]) {
    const [first = '', ...rest] = betweenLines(words).split('\n');
    expect(rest.at(-1)).toBe(first);
    expect(rest.slice(0, -1).join('\n')).toBe(words);
    expect(words).not.toContain(first);
  }
});
