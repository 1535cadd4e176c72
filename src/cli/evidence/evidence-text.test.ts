import { expect, test } from 'vitest';
import type { Evidence } from '../../schema/evidence.ts';
import { createStyle } from '../terminal/style.ts';
import { evidenceInBrief, evidenceLines } from './evidence-text.ts';

const plain = createStyle(false);
const NOTHING: Evidence = {
  exitCode: 0,
  durationMs: 5,
  toolCalls: null,
  toolFailures: null,
  toolDenials: null,
  toolEdits: null,
  filesChanged: null,
  commits: null,
  diff: null,
  leftoversKilled: 0,
  note: 'not a git repository',
  verdict: 'claimed',
};
const MUCH: Evidence = {
  ...NOTHING,
  toolCalls: 31,
  toolFailures: 2,
  toolDenials: 0,
  toolEdits: 0,
  filesChanged: { count: 3, files: ['M src/a.ts', 'A odd\u001b[2Jname'] },
  commits: { count: 1, newest: [{ id: '4be1c02aaaabbbb', subject: 'Parse\nempty input' }] },
  diff: { insertions: 58, deletions: 4 },
  note: null,
  verdict: 'verified',
};

test('the verdict comes first, then figures and names, escaped and on one line each', () => {
  expect(evidenceLines(MUCH, plain)).toEqual([
    'verified: 3 files changed · +58 −4 lines · 1 commit · 31 tool calls (2 failed)',
    'M src/a.ts',
    'A odd␛[2Jname',
    'and 1 more',
    '4be1c02aaa Parse empty input',
  ]);
});

test('unknown figures are omitted, and the note says why', () => {
  expect(evidenceLines(NOTHING, plain)).toEqual(['claimed', 'not a git repository']);
});

test('the short form has the verdict and the number of files', () => {
  expect(evidenceInBrief(MUCH, plain)).toBe('verified, 3 files');
  expect(evidenceInBrief({ ...MUCH, filesChanged: { count: 1, files: [] } }, plain)).toBe('verified, 1 file');
  expect(evidenceInBrief(NOTHING, plain)).toBe('claimed');
  expect(evidenceInBrief(null, plain)).toBe('');
});
