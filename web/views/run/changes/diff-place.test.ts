import { expect, test } from 'vitest';
import { openAtFirst, placeInHash, placeName } from './diff-place.ts';
import type { DiffFile } from './parse-diff.ts';

test('a place in a diff is said in the address and read from it', () => {
  for (const place of [
    { path: 'src/a.ts', line: 40, side: 'new' as const },
    { path: 'a b:R3/ü.ts', line: 1, side: 'old' as const },
  ])
    expect(placeInHash(`#${encodeURIComponent(placeName(place))}`)).toEqual(place);
  expect(placeInHash('#src/a.ts:R40')).toEqual({ path: 'src/a.ts', line: 40, side: 'new' });
  expect(placeInHash('#src/a.ts')).toEqual({ path: 'src/a.ts', line: null, side: 'new' });
  for (const hash of ['', '#', '#%zz', '#token=abc']) expect(placeInHash(hash)).toBeNull();
});

test('long files are folded, and so is what would be too much together', () => {
  const file = (path: string, lines: number) =>
    ({ path, hunks: [{ lines: Array(lines).fill(null) }] }) as unknown as DiffFile;
  const files = [file('long', 5000), ...Array.from({ length: 20 }, (_, at) => file(`f${at}`, 299))];
  expect([...openAtFirst(files)]).toEqual(['f0', 'f1', 'f2', 'f3', 'f4']);
});
