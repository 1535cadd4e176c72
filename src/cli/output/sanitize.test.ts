import fc from 'fast-check';
import { expect, test } from 'vitest';
import { oneLine, sanitize } from './sanitize.ts';

test.each([
  ['colours', '\u001b[31mred\u001b[0m', 'red'],
  ['a cleared screen', 'a\u001b[2J\u001b[Hb', 'ab'],
  ['a window title', 'a\u001b]0;owned\u0007b', 'ab'],
  ['a link', '\u001b]8;;http://x\u001b\\text\u001b]8;;\u001b\\', 'text'],
  ['a clipboard write', 'a\u001b]52;c;cm0gLXJm\u0007b', 'ab'],
  ['a string without its end', 'a\u001b]0;never\nb', 'a\nb'],
  ['a device string', 'a\u001bPq#0\u001b\\b', 'ab'],
  ['a reset', 'a\u001bcb', 'ab'],
  ['a character set', 'a\u001b(Bb', 'ab'],
  ['one-character forms', 'a\u009b31mb\u009d0;t\u009cc', 'abc'],
  ['bell, backspace, carriage return, delete', 'a\u0007\b\r\u007fb', 'ab'],
  ['turned reading direction', 'a\u202eb\u2066c', 'abc'],
  ['half a character', 'a\ud800b', 'a\ufffdb'],
  ['a cut sequence', 'a\u001b[3', 'a'],
])('%s is taken out whole', (_, text, clean) => {
  expect(sanitize(text)).toBe(clean);
});

test('newlines, tabs and every script stay', () => {
  const text = 'a\tb\nné 日本 العربية 👩‍👩‍👧 \u00a0…';
  expect(sanitize(text)).toBe(text);
});

test('nothing a terminal obeys is ever left', () => {
  const hostile = fc.string({
    unit: fc.constantFrom(
      '\u001b',
      '[',
      ']',
      '0',
      ';',
      'm',
      '\u0007',
      '\\',
      'P',
      '\u009b',
      '\u009d',
      '\u009c',
      'x',
      '\n',
      '\r',
      '\u0000',
      ' ',
    ),
  });
  fc.assert(
    fc.property(hostile, text => {
      expect(sanitize(text)).not.toMatch(/[^\P{Cc}\n\t]/u);
    }),
    { numRuns: 2_000 },
  );
});

test('a line of an agent is one line', () => {
  expect(oneLine('  first\r\n\tsecond\rthird \u001b[1m!  ')).toBe('first second third !');
});

test('on one line nothing hides: marks without width and marks of direction are seen, scripts and emoji stay', () => {
  expect(oneLine('a\u200bb\u200fc\u2060d\ufeffe')).toBe('a\ufffdb\ufffdc\ufffdd\ufffde');
  expect(oneLine('né العربية 👩‍👩‍👧')).toBe('né العربية 👩‍👩‍👧');
});
