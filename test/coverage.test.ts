import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readDocument, tableRows, taggedTests } from '../scripts/test-tags.ts';
import { FIGURE_IDS, FIGURES } from './faults/figures.ts';

const tests = taggedTests();
const provenTags = new Set(tests.flatMap(({ tags }) => tags));
const items = tableRows(readDocument('docs/coverage.md'));
const [attacks, faults] = readDocument('docs/security-tests.md')
  .split(/^## .*$/m)
  .slice(1)
  .map(tableRows);

/** How many items each part of the specification has. */
const PARTS = { A: 12, B: 12, C: 11, D: 10, E: 10, F: 9 };

describe('docs/coverage.md', () => {
  test('has every item once, in order', () => {
    const all = Object.entries(PARTS).flatMap(([part, count]) =>
      Array.from({ length: count }, (_, index) => `${part}${index + 1}`),
    );
    expect(items.map(({ name }) => name)).toEqual(all);
  });

  test('says of each item whether it is done, done in part or not yet done', () => {
    expect(items.filter(({ state }) => !/^(done|part: .+|not yet)$/.test(state))).toEqual([]);
  });

  test('has a tagged test for every claim, and none for an item that is not yet done', () => {
    expect(items.filter(({ state, tag }) => (state === 'not yet') === provenTags.has(tag))).toEqual([]);
  });
});

describe('docs/security-tests.md', () => {
  test('has every kind of attack and of fault once', () => {
    expect([attacks!.length, faults!.length]).toEqual([40, 36]);
    for (const rows of [attacks!, faults!]) {
      const tags = rows.map(({ tag }) => tag);
      expect(tags).toEqual([...new Set(tags)]);
    }
  });

  test('says how far each promise holds, and has a tagged test for every claim', () => {
    const wrong = [...attacks!, ...faults!].filter(({ state, tag }) => {
      const isClaimed = /^(done(: .+)?|part: .+)$/.test(state);
      return isClaimed
        ? !provenTags.has(tag)
        : provenTags.has(tag) || !/^(does not apply|not yet): .+$/.test(state);
    });
    expect(wrong).toEqual([]);
  });

  test('has every goal figure in order; done means that a test counts it and the day of the whole run is given', () => {
    expect(faults!.map(({ tag }) => tag)).toEqual(FIGURE_IDS);
    const wrong = faults!.filter(({ state }, at) => {
      const isCounted = 'tests' in FIGURES[FIGURE_IDS[at]!];
      return state.startsWith('done') && !(isCounted && /^done: 20\d\d-\d\d-\d\d, .+$/.test(state));
    });
    expect(wrong).toEqual([]);
  });

  test('every file of attacks has a tagged test', () => {
    const tagged = new Set(tests.map(({ file }) => file));
    const files = readdirSync(join(import.meta.dirname, 'attacks')).filter(name => name.endsWith('.test.ts'));
    expect(files.filter(name => !tagged.has(`test/attacks/${name}`))).toEqual([]);
  });
});

test('every tag of a test is a row of one of the documents', () => {
  const known = new Set([...items, ...attacks!, ...faults!].map(({ tag }) => tag));
  expect(tests.filter(({ tags }) => tags.some(tag => !known.has(tag)))).toEqual([]);
});
