import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { HIDDEN_CASES, ORDINARY_TEXT, obeyedIn } from '../../test/support/hidden-characters.ts';
import {
  asMarkdownText,
  formatBytes,
  hiddenWarning,
  nearest,
  oneLine,
  percentDecoded,
  visibleLine,
  visibleText,
  withoutColours,
} from './text.ts';

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

/** Any text at all: halves of characters and controls too, and often a mark. */
const anything = fc
  .array(fc.oneof(fc.nat(0xffff), fc.nat(0x7f)), { maxLength: 300 })
  .map(units => String.fromCharCode(...units));

describe('oneLine', () => {
  it('shows what would break or hide a line', () => {
    expect(oneLine(' a\r\n\tb\u2028c\u0007\u001b[31m\u202ed ', 50)).toBe('a b<U+2028>c␇␛[31m<U+202E>d');
  });

  it('cuts between characters and says so', () => {
    expect(oneLine('🎉🎉🎉🎉', 4)).toBe('🎉🎉🎉🎉');
    expect(oneLine('🎉🎉🎉🎉🎉', 4)).toBe('🎉🎉🎉…');
    expect(oneLine(`${' '.repeat(5_000)}late`, 10)).toBe('…');
    expect(oneLine('x'.repeat(6_000_000), 5)).toBe('xxxx…');
  });
});

describe('asMarkdownText', () => {
  it('leaves ordinary words alone', () => {
    for (const words of ['Fix #12: "cart" & total (50 %)!', 'run_a1b2', 'żółć_2'])
      expect(asMarkdownText(words, 120)).toBe(words);
  });

  it('makes marks of Markdown and HTML plain', () => {
    expect(asMarkdownText('`a` | *b* _c_ [d](e) <!-- f --> \\ ~g~ &lt;', 120)).toBe(
      '\\`a\\` \\| \\*b\\* \\_c\\_ \\[d\\](e) &lt;!-- f --&gt; \\\\ \\~g\\~ &amp;lt;',
    );
  });

  it('has no bare mark, whatever it is given', () => {
    fc.assert(
      fc.property(anything, text => {
        const plain = asMarkdownText(text, 120);
        expect(plain).not.toMatch(/[\n\r<>\u2028\p{Cc}]/u);
        expect(plain.replace(/\\[\\`*_[\]|~]|(?<=[\p{L}\p{N}])_(?=[\p{L}\p{N}])/gu, '')).not.toMatch(
          /[`*_[\]|~\\]/,
        );
        expect(plain.isWellFormed()).toBe(true);
      }),
    );
  });
});

const roles = ['architect', 'backend-developer', 'coder', 'frontend-developer', 'planner', 'reviewer'];

describe('nearest', () => {
  it.each([
    ['frontend-develper', ['frontend-developer']],
    ['Coder', ['coder']],
    ['codre', ['coder']],
    ['ocdre', ['coder']],
    ['front', ['frontend-developer']],
    ['planner-2', ['planner']],
    ['reveiwer', ['reviewer']],
  ])('finds what %s stands for', (wanted, expected) => {
    expect(nearest(wanted, roles)).toEqual(expected);
  });

  it('takes a short word for no other short word', () => {
    expect(nearest('rn', ['run', 'ls', 'prune'])).toEqual(['run']);
    expect(nearest('foo', ['log', 'run', 'stop'])).toEqual([]);
    expect(nearest('lst', ['list', 'ls', 'run', 'task'])).toEqual(['list', 'ls']);
  });

  it.each(['zzz', '', 'completely-different-thing'])('suggests nothing for %j', wanted => {
    expect(nearest(wanted, roles)).toEqual([]);
  });

  it('puts the closest first and gives at most three', () => {
    expect(nearest('cat', ['cart', 'bat', 'cat', 'catalogue', 'hat', 'dog'])).toEqual(['cat', 'bat', 'cart']);
  });

  it('does not spend time on a huge word', () => {
    expect(nearest('x'.repeat(5_000_000), roles)).toEqual([]);
  });
});

test('colours are left out', () => {
  expect(withoutColours('\u001b[1;31mred\u001b[0m and \u001b[38:2::1:2:3mother\u001b[m')).toBe(
    'red and other',
  );
});

test.each([
  '\u001b[2K',
  '\u001b[?25l',
  '\u001b[1A',
  '\u001b(B',
  '\u009b31m',
  '\u001b]0;words\u0007',
  '\u001b[r',
])('%j stays, to be shown', sequence => {
  expect(withoutColours(`a${sequence}b`)).toBe(`a${sequence}b`);
});

test.each([
  ['plain', 'plain'],
  ['a%2Fb%20c+d', 'a/b c+d'],
  ['gr%C3%BCn', 'grün'],
  ['100%', null],
  ['%FF', null],
])('%s is %s', (text, value) => {
  expect(percentDecoded(text)).toBe(value);
});

test('small sizes are exact, larger ones use the largest unit that fits', () => {
  expect([0, 1, 11, 1023].map(formatBytes)).toEqual(['0 bytes', '1 byte', '11 bytes', '1023 bytes']);
  expect([1024, 5 * 1024 ** 2, 3 * 1024 ** 3].map(formatBytes)).toEqual(['1 KiB', '5.0 MiB', '3.00 GiB']);
});
