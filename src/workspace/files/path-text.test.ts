import { expect, test } from 'vitest';
import { pathArgument, pathText } from './paths.ts';

const bytes = (text: string) => Buffer.from(text).toString('latin1');

test.each([
  ['src/a b.ts', 'src/a b.ts'],
  ['grüße/文.txt', 'grüße/文.txt'],
  ['two\nlines', '"two\\nlines"'],
  ['say "hi" \\o/', '"say \\"hi\\" \\\\o/"'],
  ['bell\u0007', '"bell\\007"'],
  ['right\u202Eleft', '"right\\342\\200\\256left"'],
])('%j is shown as %s', (path, shown) => expect(pathText(bytes(path))).toBe(shown));

test('bytes that are no text are shown by number, and cannot be an argument', () => {
  expect(pathText('a\xff/b')).toBe('"a\\377/b"');
  expect(pathArgument('a\xff/b')).toBeNull();
  expect(pathArgument(bytes('grüße'))).toBe('grüße');
});
