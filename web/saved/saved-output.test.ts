import { expect, test } from 'vitest';
import { SavedOutput } from './saved-output.ts';

const at = (offset: number, limit = 1000) => ({ offset, limit, isWholeLines: true, isReadable: false });
const saved = (text: string, firstLine: number | null = 1, words: (string | null)[] | null = null) =>
  new SavedOutput({ text, firstLine, words });

test('saved output is read from its beginning, from its end, and by any range, in bytes', () => {
  const output = saved('one\ntwo\nthree\n');
  expect(output.read(at(0))).toEqual({
    text: 'one\ntwo\nthree\n',
    offset: 0,
    nextOffset: 14,
    size: 14,
    firstLine: 1,
  });
  expect(output.read(at(-6))).toMatchObject({ text: 'three\n', offset: 8, firstLine: 3 });
  expect(output.read({ ...at(1, 4), isWholeLines: false })).toMatchObject({ text: 'ne\nt', nextOffset: 5 });
  expect(output.read(at(99))).toMatchObject({ text: '', offset: 14, nextOffset: 14 });
});

test('whole lines have no pieces at their edges, unless a piece is all there is', () => {
  const output = saved('one\ntwo\nthree\n');
  expect(output.read(at(1, 9))).toMatchObject({ text: 'two\n', offset: 4, nextOffset: 8, firstLine: 2 });
  expect(output.read(at(9, 2))).toMatchObject({ text: 'hr', offset: 9, nextOffset: 11 });
});

test('consecutive pages give every character once, whatever its size in bytes', () => {
  const text = 'aé日😀\n'.repeat(40);
  for (const limit of [1, 2, 3, 5, 64]) {
    const output = saved(text);
    let read = '';
    for (let offset = 0; ; ) {
      const page = output.read({ ...at(offset, limit), isWholeLines: false });
      read += page.text;
      if (page.nextOffset === page.size) break;
      expect(page.nextOffset).toBeGreaterThan(offset);
      offset = page.nextOffset;
    }
    expect(read).toBe(text);
  }
});

test('the end of a longer one keeps the numbers its lines had', () => {
  const output = saved('ninth\ntenth\n', 9);
  expect(output.read(at(0))).toMatchObject({ firstLine: 9, offset: 0 });
  expect(output.locate({ line: 10 })).toEqual({ line: 10, offset: 6, lines: 10, isComplete: true });
  expect(output.locate({ line: 1 })).toMatchObject({ line: 9, offset: 0 });
  expect(output.locate({ line: 99 })).toMatchObject({ line: 10 });
  expect(output.locate({ offset: 7 })).toMatchObject({ line: 10, offset: 6 });
  expect(saved('x\n', null).locate({ offset: 0 })).toMatchObject({ line: null, offset: 0, lines: null });
  expect(saved('').locate({ line: 1 })).toMatchObject({ line: null, offset: null });
});

test('events are shown in words, at the bytes their lines have', () => {
  const output = saved('{"a":1}\n{"b":2}\n{"c":3}\n', 1, ['said\ntwice', null, 'last']);
  const words = { ...at(0), isReadable: true };
  expect(output.read(words)).toMatchObject({ text: 'said\ntwice\nlast\n', nextOffset: 24 });
  expect(output.read({ ...words, offset: 8 })).toMatchObject({ text: 'last\n', offset: 8, nextOffset: 24 });
  expect(output.read({ ...words, isReadable: false }).text).toContain('{"b":2}');
  expect([...output.lines(8, true)].map(({ text }) => text)).toEqual(['', 'last']);
});
