import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..');
const table = readFileSync(join(root, 'docs/coverage.md'), 'utf8');
const rows = [...table.matchAll(/^\| ([A-Z]\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)].map(
  ([, number, what, state, proof]) => ({
    number: number!,
    what: what!.trim(),
    state: state!.trim(),
    tests: [...proof!.matchAll(/`([^`]+) › ([^`]+)`/g)].map(([, file, title]) => ({
      file: file!,
      title: title!,
    })),
  }),
);

/** How many items each part of the specification has. */
const PARTS = { A: 12, B: 12, C: 11, D: 10, E: 10, F: 9 };

describe('docs/coverage.md', () => {
  test('has every item once, in order', () => {
    const all = Object.entries(PARTS).flatMap(([part, count]) =>
      Array.from({ length: count }, (_, index) => `${part}${index + 1}`),
    );
    expect(rows.map(({ number }) => number)).toEqual(all);
  });

  test('says of each whether it is done, in part or not yet', () => {
    const wrong = rows.filter(({ state }) => !/^(done|part: .+|not yet)$/.test(state));
    expect(wrong).toEqual([]);
  });

  test('names a test for whatever it claims, and none for what it does not', () => {
    const wrong = rows.filter(({ state, tests }) => (state === 'not yet') !== (tests.length === 0));
    expect(wrong).toEqual([]);
  });

  test('names only tests that are there', () => {
    const missing = rows.flatMap(({ number, tests }) =>
      tests
        .filter(({ file, title }) => !hasTest(join(root, file), title))
        .map(({ file, title }) => `${number}: ${file} › ${title}`),
    );
    expect(missing).toEqual([]);
  });
});

/** The title as a string in the file, whichever quotes it stands in. */
function hasTest(file: string, title: string): boolean {
  if (!existsSync(file)) return false;
  const source = readFileSync(file, 'utf8').replaceAll("\\'", "'");
  return [`'${title}'`, `"${title}"`, `\`${title}\``].some(literal => source.includes(literal));
}
