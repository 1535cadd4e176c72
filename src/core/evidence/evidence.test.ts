import { expect, test } from 'vitest';
import { type ChangedFile, Evidence, type WorkSnapshot } from '../../schema/evidence.ts';
import { evidenceOf, type Observed } from './evidence.ts';

const snapshot: WorkSnapshot = {
  root: '/r',
  head: null,
  branch: 'main',
  headLogSize: 0,
  dirty: [],
  ignoreRules: '',
  keptOut: 0,
  takenAt: 90,
  readyAt: 100,
};
const seen: Observed = {
  status: 'completed',
  exitCode: 0,
  durationMs: 1200,
  leftoversKilled: 1,
  isCutOff: false,
  refusedHosts: [],
  hasOutput: true,
  structured: null,
  tools: { calls: 4, failures: 1, denials: 0, edits: 1 },
  baseline: { snapshot, why: null },
  changes: {
    files: [
      { status: 'M', path: 'app/a.ts', isOutside: false },
      { status: 'A', path: 'b.ts', isOutside: true },
    ],
    commits: { count: 1, newest: [{ id: 'abc1234', subject: 'One' }] },
    lines: { insertions: 5, deletions: 2 },
    notes: [],
  },
  startedAt: 100,
  otherRuns: 0,
  earlier: null,
};

test('is everything that was seen, and fits its schema', { tags: ['F1'] }, () => {
  const evidence = evidenceOf(seen);
  expect(Evidence.parse(evidence)).toEqual(evidence);
  expect(evidence).toEqual({
    exitCode: 0,
    durationMs: 1200,
    toolCalls: 4,
    toolFailures: 1,
    toolDenials: 0,
    toolEdits: 1,
    filesChanged: { count: 2, files: ['M app/a.ts', 'A b.ts (outside its folder)'] },
    commits: { count: 1, newest: [{ id: 'abc1234', subject: 'One' }] },
    diff: { insertions: 5, deletions: 2 },
    leftoversKilled: 1,
    note: null,
    verdict: 'verified',
  });
});

test('tool calls and processes left behind are those of all turns, what changed is not added up', () => {
  const first = evidenceOf({ ...seen, tools: { calls: 3, failures: 2, denials: 1, edits: 1 } });
  const whole = evidenceOf({ ...seen, earlier: first });
  expect(whole).toMatchObject({
    ...{ toolCalls: 7, toolFailures: 3, toolDenials: 1, toolEdits: 2, leftoversKilled: 2 },
    filesChanged: { count: 2 },
    commits: { count: 1 },
  });
  expect(evidenceOf({ ...seen, earlier: whole, tools: null }).toolCalls).toBe(7);
});

test('an observation that could not be made is null and says why', () => {
  const blind = {
    ...seen,
    tools: null,
    changes: null,
    baseline: { snapshot: null, why: 'not a git repository' },
  };
  expect(evidenceOf(blind)).toMatchObject({
    toolCalls: null,
    toolFailures: null,
    filesChanged: null,
    commits: null,
    diff: null,
    note: 'not a git repository',
    verdict: 'claimed',
  });
});

test('names twenty files and counts all', () => {
  const files = Array.from(
    { length: 30 },
    (_, n): ChangedFile => ({ status: 'A', path: `f${n}`, isOutside: false }),
  );
  const { filesChanged } = evidenceOf({ ...seen, changes: { ...seen.changes!, files } });
  expect(filesChanged).toMatchObject({ count: 30 });
  expect(filesChanged?.files).toHaveLength(20);
});

test('a late baseline and a shared folder are noted, and weaken the verdict', () => {
  const nothing = { ...seen.changes!, files: [], commits: { count: 0, newest: [] } };
  const late = evidenceOf({ ...seen, startedAt: 99, changes: nothing });
  expect(late).toMatchObject({ verdict: 'claimed', note: expect.stringContaining('baseline taken late') });
  const shared = evidenceOf({ ...seen, tools: null, otherRuns: 2 });
  expect(shared).toMatchObject({
    verdict: 'claimed',
    note: '2 other runs worked in this folder at the same time',
  });
});

test('hosts that the sandbox refused are named', { tags: ['I2'] }, () => {
  const hosts = Array.from({ length: 12 }, (_, at) => `h${at}.example:443`);
  const { note } = evidenceOf({ ...seen, refusedHosts: hosts });
  expect(note).toContain('its sandbox refused connections to h0.example:443, ');
  expect(note).toContain('h9.example:443 and 2 more');
});
