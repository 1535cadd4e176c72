import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asMarkdownText, oneLine } from './text.ts';

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
