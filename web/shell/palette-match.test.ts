import { expect, test } from 'vitest';
import { actionIn, matching } from './palette-match.ts';

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

test('names that begin with the word come first in their group, and their group before the others', () => {
  expect(labels('run')).toEqual(['Runs', 'Run the tests', 'Fix the runner', 'Cancel every run']);
});

test('an action and the run it is meant for come before the run, whatever stands between the words', () => {
  const both = [entry('Runs', 'Which db?', 'cancel which'), entry('Actions on runs', 'Cancel: Which db?')];
  expect(matching(both, 'cancel which', 8).map(({ label }) => label)).toEqual([
    'Cancel: Which db?',
    'Which db?',
  ]);
});

test('a long group does not hide the others', () => {
  expect(labels('', 1)).toEqual(['Runs', 'Cancel every run', 'Fix the runner']);
});

test('an action is known by its words, and the rest says on which run', () => {
  expect(actionIn(' Send back the parser ')).toEqual({ isAction: true, rest: 'the parser' });
  expect(actionIn('approve')).toEqual({ isAction: true, rest: '' });
  expect(actionIn('approved work')).toEqual({ isAction: false, rest: 'approved work' });
});
