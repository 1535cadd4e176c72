import { expect, test } from 'vitest';
import type { RunId } from '../../schema/ids.ts';
import { overlapOf } from './overlap.ts';
import { suggestedOrder } from './plan-integration.ts';

const run = (name: string, files: string[], endedAt: number | null = 0) => ({
  runId: name as RunId,
  files,
  endedAt,
});

test('files of several runs, those of most first, then by name', () => {
  const overlap = overlapOf([run('b', ['z', 'y', 'own']), run('a', ['z', 'y', 'x']), run('c', ['z', 'x'])]);
  expect(overlap.files).toEqual([
    { path: 'z', runs: ['a', 'b', 'c'] },
    { path: 'x', runs: ['a', 'c'] },
    { path: 'y', runs: ['a', 'b'] },
  ]);
});

test('pairs of runs, with how many files they share, most first', () => {
  const { pairs } = overlapOf([run('a', ['1', '2', '3']), run('b', ['2', '3']), run('c', ['3'])]);
  expect(pairs).toEqual([
    { runs: ['a', 'b'], files: 2 },
    { runs: ['a', 'c'], files: 1 },
    { runs: ['b', 'c'], files: 1 },
  ]);
});

test('a run alone, one that names a file twice, and none overlap with nobody', () => {
  expect(overlapOf([run('a', ['1', '1']), run('b', ['2'])])).toEqual({ files: [], pairs: [] });
  expect(overlapOf([])).toEqual({ files: [], pairs: [] });
});

test('least overlap comes first, then the oldest end, then the id', () => {
  const order = suggestedOrder([
    run('late', ['own late'], 9),
    run('crowded', ['shared', 'also', 'third'], 1),
    run('early', ['own early'], 2),
    run('second', ['also'], 5),
    run('first', ['shared'], 5),
    run('never', ['third'], null),
  ]);
  expect(order.map(({ runId }) => runId)).toEqual(['early', 'late', 'first', 'second', 'never', 'crowded']);
});
