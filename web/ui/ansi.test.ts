import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HIDDEN_CASES, ORDINARY_TEXT } from '../../test/support/hidden-characters.ts';
import { type AnsiLine, AnsiParser } from './ansi.ts';
import { PLAIN_STYLE } from './ansi-style.ts';

const ESC = '\u001b';
const plain = (line: AnsiLine): string => line.map(({ text }) => text).join('');

function parsed(text: string): AnsiLine[] {
  const parser = new AnsiParser();
  const lines = parser.push(text);
  return parser.open.length > 0 ? [...lines, parser.open] : lines;
}
const words = (text: string): string[] => parsed(text).map(plain);
const styled = (text: string) =>
  parsed(text)
    .flat()
    .map(({ text, style, href }) => [
      text,
      Object.fromEntries(Object.entries({ ...style, href }).filter(([, value]) => value)),
    ]);

describe('colours', () => {
  test('of the theme, bright ones, 256 and true ones', () => {
    expect(styled(`${ESC}[31mred ${ESC}[94;40mblue${ESC}[m plain`)).toEqual([
      ['red ', { fg: '1' }],
      ['blue', { fg: '12', bg: '0' }],
      [' plain', {}],
    ]);
    expect(styled(`${ESC}[38;5;9ma${ESC}[38;5;196mb${ESC}[48;5;244mc`)).toEqual([
      ['a', { fg: '9' }],
      ['b', { fg: '#ff0000' }],
      ['c', { fg: '#ff0000', bg: '#808080' }],
    ]);
    expect(styled(`${ESC}[38;2;1;20;255;1ma${ESC}[0;38:2::9:8:7mb`)).toEqual([
      ['a', { fg: '#0114ff', isBold: true }],
      ['b', { fg: '#090807' }],
    ]);
  });

  test('that are none change nothing', () => {
    const text = `${ESC}[38;5;300ma${ESC}[38;2;1;2mb${ESC}[38mc${ESC}[999md`;
    expect(
      parsed(text)
        .flat()
        .every(({ style }) => JSON.stringify(style) === JSON.stringify(PLAIN_STYLE)),
    ).toBe(true);
  });

  test('bold, dim, italic, underlined, struck, inverse, on and off', () => {
    const on = {
      isBold: true,
      isDim: true,
      isItalic: true,
      isUnderlined: true,
      isInverse: true,
      isStruck: true,
    };
    expect(styled(`${ESC}[1;2;3;4;7;9ma${ESC}[22;23;24;27;29mb`)).toEqual([
      ['a', on],
      ['b', {}],
    ]);
  });

  test('go on over lines and chunks, wherever a chunk ends', () => {
    const text = `${ESC}[1;38;5;196mone\r\ntwo ${ESC}]8;;https://a.b/c${ESC}\\link${ESC}]8;;${ESC}\\ end${ESC}[0m`;
    const whole = parsed(text);
    for (let cut = 0; cut <= text.length; cut++) {
      const parser = new AnsiParser();
      const lines = [...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut))];
      expect([...lines, parser.open]).toEqual(whole);
    }
  });
});

describe('a line', () => {
  test.each(HIDDEN_CASES)(
    'shows $name, and obeys nothing',
    { tags: ['terminal-escapes'] },
    ({ text, shown }) => {
      expect(words(`a${text}b\nnext`)).toEqual([`a${shown}b`, 'next']);
    },
  );

  test.each(ORDINARY_TEXT)('leaves %s as it is', text => {
    expect(words(text)).toEqual([text]);
  });

  test('ends with CRLF as with a newline', () => {
    expect(words('kept\r\nnext\r\r\n')).toEqual(['kept', 'next␍']);
  });

  test('is not emptied by a sequence that nobody closed', () => {
    expect(words(`a${ESC}]0;never closed\nb`)).toEqual(['a␛]0;never closed', 'b']);
    expect(words(`a${ESC}[31\nb`)).toEqual(['a␛[31', 'b']);
    expect(styled(`a${ESC}]0;x${ESC}[1mb`)).toEqual([
      ['a␛]0;x', {}],
      ['b', { isBold: true }],
    ]);
  });
});

describe('a link', () => {
  test('of the web is one, followed by where it leads', () => {
    expect(styled(`${ESC}]8;id=1;https://example.com/x?y\u0007here${ESC}]8;;\u0007 not`)).toEqual([
      ['here', { href: 'https://example.com/x?y' }],
      [' (https://example.com/x?y) not', {}],
    ]);
    expect(words(`${ESC}]8;;https://evil.example${ESC}\\https://bank.example/${ESC}]8;;${ESC}\\`)).toEqual([
      'https://bank.example/ (https://evil.example/)',
    ]);
    expect(words(`${ESC}]8;;https://a.b${ESC}\\https://a.b${ESC}]8;;${ESC}\\.`)).toEqual(['https://a.b.']);
  });

  test('says on each of its lines where it leads', () => {
    expect(words(`${ESC}]8;;https://a.b/\u0007one\ntwo${ESC}]8;;\u0007`)).toEqual([
      'one (https://a.b/)',
      'two (https://a.b/)',
    ]);
  });

  test.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    ' javascript:alert(1)',
    'x',
    '//a.b',
    'https://a.b"onclick=x',
  ])('to %s is text', address => {
    expect(styled(`${ESC}]8;;${address}\u0007here`)).toEqual([[`␛]8;;${address}␇here`, {}]]);
  });

  test('with words among its parameters is text', () => {
    expect(words(`${ESC}]8;note=hidden words;https://a.b\u0007x`)).toEqual([
      '␛]8;note=hidden words;https://a.b␇x',
    ]);
  });
});

test('whatever comes in, nothing comes out but text, known styles and addresses of the web', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 8 }),
    fc.constantFrom(
      ESC,
      `${ESC}[`,
      `${ESC}]8;;`,
      `${ESC}P`,
      '\u009b',
      '\u0007',
      `${ESC}\\`,
      '\r',
      '\n',
      '\b',
      'm',
      ';',
    ),
    fc.constantFrom(
      '<script>alert(1)</script>',
      '38;2;1;2;3m',
      '48;5;77m',
      'javascript:x',
      'https://a.b"onclick=x',
    ),
    fc.integer({ min: 0, max: 0x9f }).map(code => String.fromCharCode(code)),
  );
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 40 }),
      fc.array(fc.nat(200), { maxLength: 4 }),
      (pieces, cuts) => {
        const text = pieces.join('');
        const whole = parsed(text);
        for (const { text: shown, style, href } of whole.flat()) {
          // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left
          expect(shown).not.toMatch(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
          expect(Object.keys(style)).toEqual(Object.keys(PLAIN_STYLE));
          for (const colour of [style.fg, style.bg])
            expect(colour ?? '0').toMatch(/^(?:\d|1[0-5]|#[0-9a-f]{6})$/);
          if (href !== null) expect(href).toMatch(/^https?:\/\/[^\s"<>]*$/);
        }
        const parser = new AnsiParser();
        const parts = [0, ...cuts.map(cut => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
        const lines = parts.slice(1).flatMap((end, at) => parser.push(text.slice(parts[at], end)));
        expect(parser.open.length > 0 ? [...lines, parser.open] : lines).toEqual(whole);
      },
    ),
    { numRuns: 2_000 },
  );
});
