import { expect, test } from 'vitest';
import { matching } from './palette-match.ts';

const entry = (group: string, label: string, hint?: string) => ({ id: label, group, label, hint, run() {} });
const entries = [
  entry('Views', 'Runs'),
  entry('Squad', 'Cancel every run', 'squad cancel --all'),
  entry('Runs', 'Fix the runner'),
  entry('Runs', 'Run the tests'),
];
const labels = (typed: string, most = 8) => matching(entries, typed, most).map(({ label }) => label);

test('every word has to be somewhere in it', () => {
  expect(labels('cancel all')).toEqual(['Cancel every run']);
  expect(labels('nothing')).toEqual([]);
});

test('groups keep their order; within one, what begins with the word comes first', () => {
  expect(labels('run')).toEqual(['Runs', 'Cancel every run', 'Run the tests', 'Fix the runner']);
});

test('a long group does not hide the others', () => {
  expect(labels('', 1)).toEqual(['Runs', 'Cancel every run', 'Fix the runner']);
});
