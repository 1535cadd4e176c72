import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HIDDEN_CASES, ORDINARY_TEXT, obeyedIn } from '../../test/support/hidden-characters.ts';
import { hiddenWarning, visibleLine, visibleText } from './text.ts';

test.each(HIDDEN_CASES)('$name is shown, and nothing around it is lost', ({ text, shown }) => {
  expect(visibleText(`a${text}b`)).toBe(`a${shown}b`);
  expect(visibleLine(`a${text}b`)).toBe(`a${shown}b`);
  expect(visibleText(text.repeat(3))).toBe(shown.repeat(3));
  expect(hiddenWarning(`a${text}b`, 'x')).toMatch(/^Warning: x has \d+ hidden character/);
});

test.each(ORDINARY_TEXT)('%s is left as it is', text => {
  expect(visibleText(text)).toBe(text);
  expect(hiddenWarning(text, 'x')).toBeNull();
});

test('half a character is shown by its code', () => {
  expect(visibleText('a\ud800b')).toBe('a<U+D800>b');
});

test('lines and tabs stay, and are one space on one line', () => {
  expect(visibleText('a\tb\r\nc')).toBe('a\tb\nc');
  expect(visibleLine(' a\tb\r\n\n c\u001b ')).toBe('a b c␛');
  expect(hiddenWarning('a\tb\r\nc', 'x')).toBeNull();
});

test('whatever the text, nothing in it is obeyed, and showing it twice changes nothing', {
  tags: ['R26', 'terminal-escapes'],
}, () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 6 }),
    fc.constantFrom(...HIDDEN_CASES.map(({ text }) => text), '\r\n', '👩', 'ا', '1', '\u20e3'),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), pieces => {
      const shown = visibleText(pieces.join(''));
      const rest = shown.replaceAll(/\u200c|\u200d|[\ufe00-\ufe0f]/g, '');
      expect(obeyedIn(rest)).toEqual([]);
      expect(visibleText(shown)).toBe(shown);
    }),
    { numRuns: 500 },
  );
});

test('a warning counts and names', () => {
  expect(hiddenWarning('a\u202eb\u001b[1m\u001b[0m', 'The file')).toBe(
    'Warning: The file has 3 hidden characters, shown by picture or code: 2 terminal control (2 × U+001B ESC), 1 reading direction (1 × U+202E RLO)',
  );
  expect(
    hiddenWarning(String.fromCharCode(...Array.from({ length: 12 }, (_, at) => at + 0x80)), 'It'),
  ).toMatch(/, 7 more kinds\)$/);
});
