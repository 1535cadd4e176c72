import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { FIGURE_IDS, FIGURES } from '../faults/figures.ts';

const root = resolve(import.meta.dirname, '..', '..');
const [, attacks = '', faults = ''] = readFileSync(join(root, 'docs/security-tests.md'), 'utf8').split(
  /^## .*$/m,
);
const rowsOf = (table: string) =>
  [...table.matchAll(/^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)]
    .slice(2) // its title and the line below
    .map(([, name, , state, proof]) => ({
      name: name!.trim(),
      state: state!.trim(),
      tests: [...proof!.matchAll(/`([^`]+) › ([^`]+)`/g)].map(([, file, title]) => ({
        file: file!,
        title: title!,
      })),
    }));
const rows = [...rowsOf(attacks), ...rowsOf(faults)];

test('every kind of attack and of fault has its row, once', () => {
  expect([rowsOf(attacks).length, rowsOf(faults).length]).toEqual([40, 36]);
  for (const table of [attacks, faults]) {
    const names = rowsOf(table).map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
  }
});

test('each says how far it is held, and names a test for what it claims', () => {
  const wrong = rows.filter(({ state, tests }) => {
    const isClaimed = /^(done(: .+)?|part: .+)$/.test(state);
    return isClaimed ? tests.length === 0 : tests.length > 0 || !/^(does not apply|not yet): .+$/.test(state);
  });
  expect(wrong).toEqual([]);
});

test('every goal figure has its row, in order, and is done only if a test counts it and the day of the whole run is told', () => {
  const figures = rowsOf(faults);
  expect(figures.map(({ name }) => name.split(' ')[0])).toEqual(FIGURE_IDS);
  const wrong = figures.filter(({ state }, at) => {
    const isCounted = 'tests' in FIGURES[FIGURE_IDS[at]!];
    return state.startsWith('done') && !(isCounted && /^done: 20\d\d-\d\d-\d\d, .+$/.test(state));
  });
  expect(wrong).toEqual([]);
});

test('every test it names is there', () => {
  const missing = rows.flatMap(({ name, tests }) =>
    tests
      .filter(({ file, title }) => !hasTest(join(root, file), title))
      .map(({ file, title }) => `${name}: ${file} › ${title}`),
  );
  expect(missing).toEqual([]);
});

test('every test of attacks is named by a row', () => {
  const named = new Set(rows.flatMap(({ tests }) => tests.map(({ file }) => file)));
  const files = readdirSync(import.meta.dirname).filter(
    name => name.endsWith('.test.ts') && name !== 'map.test.ts',
  );
  expect(files.filter(name => !named.has(`test/attacks/${name}`))).toEqual([]);
});

/** The title as a string in the file, whichever quotes it stands in. */
function hasTest(file: string, title: string): boolean {
  if (!existsSync(file)) return false;
  const source = readFileSync(file, 'utf8').replaceAll("\\'", "'");
  return [`'${title}'`, `"${title}"`, `\`${title}\``].some(literal => source.includes(literal));
}
