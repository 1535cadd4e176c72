import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readDocument, tableRows, taggedTests } from '../scripts/test-tags.ts';
import { FIGURE_IDS, FIGURES, figure } from './faults/figures.ts';

const tests = taggedTests();
const provenTags = new Set(tests.flatMap(({ tags }) => tags));
const items = tableRows(readDocument('docs/coverage.md'));
const [attacks, faults, others] = readDocument('docs/security-tests.md')
  .split(/^## .*$/m)
  .slice(1)
  .map(tableRows);

/** How many items each part of the specification has. */
const PARTS = { A: 12, B: 12, C: 11, D: 10, E: 10, F: 9, G: 7, H: 8, I: 4 };

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
    expect([attacks!.length, faults!.length, others!.length]).toEqual([42, 36, 16]);
    for (const rows of [attacks!, faults!, others!]) {
      const tags = rows.map(({ tag }) => tag);
      expect(tags).toEqual([...new Set(tags)]);
    }
  });

  test('says how far each promise holds, and has a tagged test for every claim', () => {
    const wrong = [...attacks!, ...faults!, ...others!].filter(({ state, tag }) => {
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

/** Sections that promise nothing: they say what Squad does not do, or what to do. */
const NO_PROMISE = /^#+ (Limits|Advice|Reporting|What Squad is trusted with)\b/;

/** A paragraph, a list item, or a cell of the threat model; a table of values belongs to the paragraph before it. */
function promisesOf(document: string): string[] {
  const sections = document.split(/^(?=#+ )/m).filter(section => !NO_PROMISE.test(section));
  return sections.flatMap(section => {
    const blocks = section.replace(/^#.*$/m, '').split(/\n\n+|\n(?=- |\| )/);
    const cell = section.startsWith('## Threat model')
      ? /^\| (?!Who or what|---)[^|]+ \| ([^|]{2,}) \|/
      : /(?!)/;
    return blocks
      .map(block => (block.startsWith('|') ? (cell.exec(block)?.[1] ?? '') : block.trim()))
      .filter(block => block !== '');
  });
}

/** Ids at its end; only a sentence that says what does not hold, or what to do, may follow them. */
const PROVEN = /(?: \[[\w-]+\])+(?:\s+(?:Limit|Advice): [^[]+)?$/;

describe('promises', () => {
  test.each(['SECURITY.md', 'docs/reliability.md'])(
    '%s: each one names a proven test',
    { tags: ['R36'] },
    path => {
      const [, ...promises] = promisesOf(readDocument(path));
      const unproven = promises.filter(promise => {
        // A reference to another document, and a sentence that introduces a list, promise nothing themselves.
        if (/^[^.]+: \[[^\]]+\]\([^)]+\)\.$/.test(promise) || /:$/.test(promise)) return false;
        const ids = [...promise.matchAll(/ \[([\w-]+)\](?!\()/g)].map(([, id]) => id!);
        return !PROVEN.test(promise) || ids.some(id => !provenTags.has(id));
      });
      expect(unproven).toEqual([]);
      figure('R36', {
        reached: promises.length,
        of: promises.length,
        told: `promises of ${path} name a test`,
      });
    },
  );

  test('only listed dependencies may run a script when they are installed', { tags: ['S15'] }, () => {
    const { allowScripts } = JSON.parse(readDocument('package.json'));
    const allowed = Object.keys(allowScripts).filter(name => allowScripts[name]);
    const [, sentence] = /Install scripts of dependencies run only for ([^.]+)\./.exec(
      readDocument('SECURITY.md'),
    )!;
    expect([...new Set(allowed.map(name => name.replace(/^(@[^/]+\/).*/, '$1*')))].sort()).toEqual(
      [...sentence!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!).sort(),
    );
  });
});

test('every tag of a test is a row of one of the documents', () => {
  const known = new Set([...items, ...attacks!, ...faults!, ...others!].map(({ tag }) => tag));
  expect(tests.filter(({ tags }) => tags.some(tag => !known.has(tag)))).toEqual([]);
});
