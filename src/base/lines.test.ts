import fc from 'fast-check';
import { expect, test } from 'vitest';
import { edgesOfLongLine, LineSplitter } from './lines.ts';

test('the same lines come out however the bytes are cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 8 }),
      fc.array(fc.nat(40)),
      (texts, cuts) => {
        const content = Buffer.from(texts.join('\n').toWellFormed());
        const lines: string[] = [];
        const splitter = new LineSplitter(
          { maxBytes: 1000 },
          { line: bytes => void lines.push(bytes.toString()) },
        );
        let at = 0;
        for (const length of cuts) {
          splitter.push(content.subarray(at, at + length));
          at += length;
        }
        splitter.push(content.subarray(at));
        splitter.end();
        const expected = content.toString().split('\n');
        if (expected.at(-1) === '') expected.pop();
        expect(lines).toEqual(expected);
      },
    ),
  );
});

test('the buffer of a chunk can be used again', () => {
  const lines: string[] = [];
  const splitter = new LineSplitter(
    { maxBytes: 10, reusesChunks: true },
    { line: bytes => void lines.push(bytes.toString()) },
  );
  const buffer = Buffer.from('ab');
  splitter.push(buffer);
  buffer.write('c\n');
  splitter.push(buffer);
  expect(lines).toEqual(['abc']);
});

test('a long line is reported by its edges and its size, and the next line is whole again', () => {
  const lines: string[] = [];
  const long: [head: string, tail: string, bytes: number][] = [];
  const splitter = new LineSplitter(
    { maxBytes: 10 },
    {
      line: bytes => void lines.push(bytes.toString()),
      piece: edgesOfLongLine(({ head, tail, bytes }, isLast) => {
        if (isLast) long.push([head.toString(), tail.toString(), bytes]);
      }),
    },
  );
  for (const piece of [
    '12345678',
    '9',
    '01',
    '23456\nab',
    'c\n',
    `${'x'.repeat(11)}\n`,
    '1234567890\n',
    'y'.repeat(11),
  ])
    splitter.push(Buffer.from(piece));
  splitter.end();
  expect(lines).toEqual(['abc', '1234567890']);
  expect(long).toEqual([
    ['12345678901', '1234567890123456', 16],
    ['x'.repeat(11), 'x'.repeat(11), 11],
    ['y'.repeat(11), 'y'.repeat(11), 11],
  ]);
});

test('no more than the edges of a long line is kept, and the size so far is reported with each piece', () => {
  const sizes: number[] = [];
  const report = edgesOfLongLine(({ head, tail, bytes }) => sizes.push(head.length, tail.length, bytes));
  for (let i = 0; i < 3; i++) report(Buffer.alloc(2000), false);
  report(Buffer.alloc(0), true);
  report(Buffer.alloc(5), true);
  expect(sizes).toEqual([
    ...[1024, 1024, 2000],
    ...[1024, 1024, 4000],
    ...[1024, 1024, 6000],
    ...[1024, 1024, 6000],
    ...[5, 5, 5],
  ]);
});

test('the rest of a line with missing bytes is no line', () => {
  const lines: string[] = [];
  const splitter = new LineSplitter({ maxBytes: 10 }, { line: bytes => void lines.push(bytes.toString()) });
  splitter.push(Buffer.from('one\ntw'));
  splitter.skipLine();
  splitter.push(Buffer.from('ree\nfour\n'));
  expect(lines).toEqual(['one', 'four']);
});

function withNewlines() {
  const seen: (string | { piece: number; isLast: boolean })[] = [];
  const lines = new LineSplitter(
    { maxBytes: 33 * 1024 * 1024, keepsNewline: true },
    {
      line: bytes => void seen.push(bytes.toString()),
      piece: (bytes, isLast) => void seen.push({ piece: bytes.length, isLast }),
    },
  );
  return { lines, seen };
}

test('lines can keep their newline, wherever the chunks are cut', () => {
  const text = Buffer.from('first\nsécond 😀\n\nlast\n');
  for (let size = 1; size <= text.length; size++) {
    const { lines, seen } = withNewlines();
    for (let at = 0; at < text.length; at += size) lines.push(text.subarray(at, at + size));
    expect(seen).toEqual(['first\n', 'sécond 😀\n', '\n', 'last\n']);
  }
});

test('only a newline ends a line', () => {
  const { lines, seen } = withNewlines();
  lines.push(Buffer.from('a\rb\u2028c\u2029d\u0085e\fg\n'));
  expect(seen).toEqual(['a\rb\u2028c\u2029d\u0085e\fg\n']);
});

test('a line too long to keep is passed on in pieces', () => {
  const { lines, seen } = withNewlines();
  const chunk = Buffer.alloc(1024 * 1024, 'x');
  for (let i = 0; i < 40; i++) lines.push(chunk);
  lines.push(Buffer.from('end\nnext\n'));
  expect(seen.at(-1)).toBe('next\n');
  const pieces = seen.slice(0, -1) as { piece: number; isLast: boolean }[];
  expect(pieces.reduce((sum, { piece }) => sum + piece, 0)).toBe(40 * chunk.length + 4);
  expect(pieces.map(({ isLast }) => isLast)).toEqual([...pieces.slice(1).map(() => false), true]);
});
