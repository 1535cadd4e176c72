import { expect, test } from 'vitest';
import { openAtFirst, partsOf, placeInHash, placeName, rowOf } from './diff-place.ts';
import { type DiffFile, parseDiff } from './parse-diff.ts';

test('a place in a diff is said in the address and read from it', () => {
  for (const place of [
    { path: 'src/a.ts', line: 40, side: 'new' as const },
    { path: 'a b:R3/ü.ts', line: 1, side: 'old' as const },
  ])
    expect(placeInHash(`#${encodeURIComponent(placeName(place))}`)).toEqual(place);
  expect(placeInHash('#src/a.ts:R40')).toEqual({ path: 'src/a.ts', line: 40, side: 'new' });
  expect(placeInHash('#src/a.ts')).toEqual({ path: 'src/a.ts', line: null, side: 'new' });
  for (const hash of ['', '#', '#%zz', '#key=abc']) expect(placeInHash(hash)).toBeNull();
});

test('long files are folded, and so is what would be too much together', () => {
  const file = (path: string, lines: number) =>
    ({ path, hunks: [{ lines: Array(lines).fill(null) }] }) as unknown as DiffFile;
  const files = [file('long', 5000), ...Array.from({ length: 20 }, (_, at) => file(`f${at}`, 299))];
  expect([...openAtFirst(files)]).toEqual(['f0', 'f1', 'f2', 'f3', 'f4']);
});

test('any part of a long file can be shown, each row once', () => {
  const hunk = (at: number, lines: number) =>
    `@@ -${at},0 +${at},${lines} @@\n${Array.from({ length: lines }, (_, line) => `+${at + line}\n`).join('')}`;
  const [file] = parseDiff(
    `diff --git a/x b/x\n--- a/x\n+++ b/x\n${hunk(1, 5)}${hunk(101, 7)}${hunk(201, 3)}`,
  );
  const rows = (from: number, until: number) =>
    partsOf(file!, { from, until }).flatMap(part => [
      ...(part.hasHead ? ['@@'] : []),
      ...part.hunk.lines.slice(part.from, part.until).map(({ text }) => text),
    ]);
  const all = rows(0, 100);
  expect(all).toHaveLength(18);
  for (let from = 0; from <= 18; from++)
    for (let until = from; until <= 18; until++) expect(rows(from, until)).toEqual(all.slice(from, until));
  expect(all[rowOf(file!, 'x:R103')]).toBe('103');
  expect(rowOf(file!, 'x:R99')).toBe(-1);
});
