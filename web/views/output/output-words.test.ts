import { expect, test } from 'vitest';
import { textRanges } from './output-search.tsx';
import { lineInHash } from './output-tab.tsx';

test('a line of the address is a number from 1, and nothing else is', () => {
  expect(lineInHash('#L120')).toBe(120);
  for (const hash of ['', '#L', '#L0', '#L-1', '#Lx', '#src/a.ts:R40', '#L1e3', '#L12 '])
    expect(lineInHash(hash)).toBeNull();
});

test('words are found as the hub finds them', () => {
  const plain = { isRegex: false, isCaseSensitive: false };
  expect(textRanges('An ERROR, error.', { q: 'error', ...plain })).toEqual([
    [3, 8],
    [10, 15],
  ]);
  expect(textRanges('An ERROR, error.', { q: 'error', isRegex: false, isCaseSensitive: true })).toHaveLength(
    1,
  );
  expect(textRanges('a.b axb', { q: 'a.b', ...plain })).toEqual([[0, 3]]);
  expect(textRanges('a.b axb', { q: 'a.b', isRegex: true, isCaseSensitive: false })).toHaveLength(2);
  expect(textRanges('abc', { q: 'x*', isRegex: true, isCaseSensitive: false })).toEqual([]);
  expect(textRanges('a'.repeat(500), { q: 'a', ...plain }, 100)).toHaveLength(100);
});
