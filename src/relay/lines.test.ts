import { expect, test } from 'vitest';
import { Lines } from './lines.ts';

function reader() {
  const seen: (string | { piece: number; isLast: boolean })[] = [];
  const lines = new Lines({
    line: bytes => void seen.push(bytes.toString()),
    piece: (bytes, isLast) => void seen.push({ piece: bytes.length, isLast }),
  });
  return { lines, seen };
}

test('lines come whole, with their newline, wherever the chunks are cut', () => {
  const text = Buffer.from('first\nsécond 😀\n\nlast\n');
  for (let size = 1; size <= text.length; size++) {
    const { lines, seen } = reader();
    for (let at = 0; at < text.length; at += size) lines.push(text.subarray(at, at + size));
    expect(seen).toEqual(['first\n', 'sécond 😀\n', '\n', 'last\n']);
  }
});

test('only a newline ends a line', () => {
  const { lines, seen } = reader();
  lines.push(Buffer.from('a\rb\u2028c\u2029d\u0085e\fg\n'));
  expect(seen).toEqual(['a\rb\u2028c\u2029d\u0085e\fg\n']);
});

test('a line too long to keep is passed on in pieces, and the next one is whole again', () => {
  const { lines, seen } = reader();
  const chunk = Buffer.alloc(1024 * 1024, 'x');
  for (let i = 0; i < 40; i++) lines.push(chunk);
  lines.push(Buffer.from('end\nnext\n'));
  expect(seen.at(-1)).toBe('next\n');
  const pieces = seen.slice(0, -1) as { piece: number; isLast: boolean }[];
  expect(pieces.reduce((sum, { piece }) => sum + piece, 0)).toBe(40 * chunk.length + 4);
  expect(pieces.map(({ isLast }) => isLast)).toEqual([...pieces.slice(1).map(() => false), true]);
});
