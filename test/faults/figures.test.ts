import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { amountOf, FIGURE_IDS, FIGURES, type Figure, type FigureId, type Reported } from './figures.ts';
import { judge, vitestArguments } from './run-figures.ts';

const root = resolve(import.meta.dirname, '..', '..');
const figures: [FigureId, Figure][] = FIGURE_IDS.map(id => [id, FIGURES[id]]);

test('there are 36 figures, in order', () => {
  expect(FIGURE_IDS).toEqual(Array.from({ length: 36 }, (_, i) => `R${i + 1}`));
});

test('every test of a figure exists and reports that figure', () => {
  const wrong = figures.flatMap(([id, figure]) =>
    ('tests' in figure ? figure.tests : []).filter(test => {
      const [file, title = ''] = test.split(' › ');
      const source = existsSync(join(root, file!)) ? readFileSync(join(root, file!), 'utf8') : '';
      return !source.includes(title) || !source.includes(`'${id}'`);
    }),
  );
  expect(wrong).toEqual([]);
});

test('the suite does a tenth, at least one, and never more than the whole', () => {
  expect([amountOf(1000), amountOf(3), amountOf(5, 50), amountOf(100, 0)]).toEqual([100, 1, 5, 1]);
});

test('a title becomes an expression that means itself', () => {
  const [file, , pattern] = vitestArguments('a.test.ts › kill -9 (of $x) × 2?');
  expect(file).toBe('a.test.ts');
  expect('the kill -9 (of $x) × 2?').toMatch(new RegExp(pattern!));
});

test.each([
  ['reports less than the goal', [{ reached: 99 }], []],
  ['misses a time', [{ reached: 100, isMet: false }], []],
  ['reports nothing', [], []],
  ['has a failed test', [{ reached: 100 }], ['a title']],
])('is not met when it %s', (_, reported, failures) => {
  expect(judge('R8', reported.map(asReported), failures, 1).isFine).toBe(false);
});

test('is met when every test passed and reported the goal', () => {
  expect(judge('R8', [asReported({ reached: 100, isMet: true })], [], 1)).toMatchObject({
    isFine: true,
    verdict: 'met',
  });
});

const asReported = (part: Partial<Reported>): Reported => ({
  id: 'R8',
  reached: 0,
  of: 100,
  told: 'x',
  ...part,
});
