import { describe, expect, it } from 'vitest';
import { SquadError } from '../../schema/error.ts';
import type { Interpolated } from './variables.ts';
import { splitCommandLine } from './words.ts';

const value = (text: string): Interpolated => ({ text, tag: '<%= prompt %>', reads: new Set(['prompt']) });

function refusal(...pieces: Parameters<typeof splitCommandLine>[0]): SquadError {
  try {
    splitCommandLine(pieces);
  } catch (thrown) {
    if (thrown instanceof SquadError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was refused');
}

describe('splitCommandLine', () => {
  it.each([
    ['', []],
    [' \t\n ', []],
    ['a b\tc\nd', ['a', 'b', 'c', 'd']],
    ['a  \\\n  b', ['a', 'b']],
    ['a\\\nb', ['ab']],
    ['a \\\n', ['a']],
    [`'a b' "c d"`, ['a b', 'c d']],
    [`'' ""`, ['', '']],
    [`a''b"c"'d'`, ['abcd']],
    [`'a"b' "a'b"`, ['a"b', "a'b"]],
    [`'a\\b' '\\'`, ['a\\b', '\\']],
    [`'a\\\nb'`, ['a\\\nb']],
    [`"a\\\nb"`, ['ab']],
    [`"\\"\\\\\\$\\\`\\n"`, ['"\\$`\\n']],
    ['\\a\\ b\\"\\\'', ['a b"\'']],
    ["'| ; & < > ( ) ` $(x) $X ~ #'", ['| ; & < > ( ) ` $(x) $X ~ #']],
    ['"| ; & < > ( ) ~ #"', ['| ; & < > ( ) ~ #']],
    ['\\| \\$HOME \\~', ['|', '$HOME', '~']],
    ['a~ b=c a#b --x=~/y', ['a~', 'b=c', 'a#b', '--x=~/y']],
    [`"A=b" c`, ['A=b', 'c']],
    ['./a=b --c=d', ['./a=b', '--c=d']],
    ['żółć 🎉 *.ts [x] {a,b} !', ['żółć', '🎉', '*.ts', '[x]', '{a,b}', '!']],
  ])('splits %j as a shell would', (text, expected) => {
    expect(splitCommandLine([text])).toEqual(expected.map(word => [word]));
  });

  it('keeps a value whole, alone, in quotes and inside a word', () => {
    const v = value(`a b'"\n|`);
    expect(splitCommandLine(['x ', v, ' "', v, `" '`, v, `' --k=`, v, '!'])).toEqual([
      ['x'],
      [v],
      ['', v],
      ['', v],
      ['--k=', v, '!'],
    ]);
  });

  it('takes a backslash before a value in double quotes as itself', () => {
    const v = value('x');
    expect(splitCommandLine(['a "\\', v, '"'])).toEqual([['a'], ['\\', v]]);
  });

  it.each([
    ['a | b', '"|"', 'line 1, column 3'],
    ['a; b', '";"', 'line 1, column 2'],
    ['a\nb &', '"&"', 'line 2, column 3'],
    ['a < b', '"<"', 'line 1, column 3'],
    ['a 2>&1', '">"', 'line 1, column 4'],
    ['(a)', '"("', 'line 1, column 1'],
    ['a )', '")"', 'line 1, column 3'],
    ['a `b`', '"`"', 'line 1, column 3'],
    ['a $(b)', '"$("', 'line 1, column 3'],
    ['a $HOME/x', '"$HOME"', 'line 1, column 3'],
    ['a x$HOME', '"$HOME"', 'line 1, column 4'],
    [`a \${X}`, '"${"', 'line 1, column 3'],
    ['a "b $X"', '"$X"', 'line 1, column 6'],
    ['a "`b`"', '"`"', 'line 1, column 4'],
    ['a ~/b', '"~"', 'line 1, column 3'],
    ['KEY=1 a', '"KEY="', 'line 1, column 4'],
    ['KEY+="x" a', '"KEY+="', 'line 1, column 5'],
    ['KEY=1', '"KEY="', 'line 1, column 4'],
  ])('refuses %j, which needs a shell', (text, what, place) => {
    const error = refusal(text);
    expect(error.code).toBe('TEMPLATE_INVALID');
    expect(error.message).toContain(`needs a shell for ${what} at ${place}: `);
    expect(error.suggestions.join(' ')).toContain('put it in a script and call the script');
  });

  it.each([
    ["a\n 'b", "has a ' that is never closed at line 2, column 2"],
    ['a "b', 'has a " that is never closed at line 1, column 3'],
    ['a "b\\"', 'has a " that is never closed at line 1, column 3'],
    ['a \\', 'ends with a backslash at line 1, column 3'],
    ['a \\  \nb', 'has blanks between a backslash and the end of its line at line 1, column 3'],
    ['# note\na', 'has an unquoted "#" at line 1, column 1'],
  ])('refuses %j', (text, problem) => {
    expect(refusal(text).message).toContain(problem);
  });

  it('shows the line with tags, never with what is in a value', () => {
    const error = refusal('first\nagent ', value('secret\n\n'), ' | tee');
    expect(error.message).toBe(
      'The template needs a shell for "|" at line 2, column 21: agent <%= prompt %> | tee',
    );
  });

  it('refuses a bare backslash before a value', () => {
    expect(refusal('a \\', value('x')).message).toContain('a backslash right before a value');
  });
});
