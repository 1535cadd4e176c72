import { expect, test } from 'vitest';
import type { RunId } from '../../schema/ids.ts';
import type { IntegrationPlan, PlannedBranch } from '../../schema/integration.ts';
import { createStyle } from '../terminal/style.ts';
import { integrationLines } from './integrate.ts';

const look = {
  out: { write: () => {}, isTTY: false, columns: 100, rows: 24, color: false },
  style: createStyle(false),
};
const branch = (given: Partial<PlannedBranch>): PlannedBranch => ({
  ...{
    runId: 'run_aaaaaaaaaa' as RunId,
    name: 'coder',
    summary: 'Do it',
    status: 'completed',
    branch: 'squad/coder/x',
  },
  ...{
    outcome: 'merges',
    commit: 'c',
    files: 2,
    conflicts: [],
    messages: [],
    hunks: [],
    commitsWork: false,
    overlaps: [],
    isBehind: false,
  },
  ...given,
});
const plan = (given: Partial<IntegrationPlan> = {}): IntegrationPlan => ({
  ...{ planId: 'p', repository: '/repo', target: 'main', from: 'f'.repeat(40), to: 't', folder: '/repo' },
  ...{ branches: [branch({})], leftOut: [], check: null, checklist: [], warnings: [], blocked: null },
  ...given,
});
const text = (given: Partial<IntegrationPlan> = {}) => integrationLines(plan(given), look).join('\n');

test('without anything to merge, skipped runs are listed with the reason', () => {
  const runId = 'run_bbbbbbbbbb' as RunId;
  const leftOut = [
    { runId, why: 'it has not ended', canBeNamed: false },
    { runId, why: 'it ended as error', canBeNamed: true },
  ];
  expect(text({ branches: [], leftOut })).toBe(
    'Nothing to integrate.\nskipped  run_bbbbbbbbbb: it has not ended\n' +
      'skipped  run_bbbbbbbbbb: it ended as error: name it to merge it anyway',
  );
});

test('branches are listed in merge order with their details', () => {
  const conflict = branch({
    runId: 'run_bbbbbbbbbb' as RunId,
    outcome: 'conflict',
    files: null,
    conflicts: ['a b.txt'],
    messages: ['CONFLICT (content): Merge conflict in a b.txt', 'CONFLICT (modify/delete): x'],
    overlaps: ['run_aaaaaaaaaa' as RunId],
  });
  const shown = text({ branches: [branch({ commitsWork: true }), conflict] });
  expect(shown).toMatch(/^Into main at f{10}, checked out at \/repo:/);
  expect(shown).toMatch(/1 {2}run_aaaaaaaaaa .* 2 {2}merges/);
  expect(shown).toMatch(/2 {2}run_bbbbbbbbbb .* – {2}conflict/);
  expect(shown).toContain('run_aaaaaaaaaa: its uncommitted changes are committed to its branch first');
  expect(shown).toContain(
    'run_bbbbbbbbbb: conflicts in a b.txt\n   run_bbbbbbbbbb: CONFLICT (modify/delete): x\n   run_bbbbbbbbbb: shares files with #1',
  );
  expect(shown.match(/a b\.txt/g)).toHaveLength(1);
});

test('a failed check shows the end of its output, without control sequences', () => {
  const output = `${Array.from({ length: 50 }, (_, line) => `line ${line}`).join('\n')}\n\u001b[2Jred\u001b[31m\n`;
  const check = {
    command: ['/bin/sh', '-c', 'npm test'],
    outcome: 'failed',
    exitCode: 1,
    output,
    durationMs: 1500,
  } as const;
  const shown = text({ check: { ...check, command: [...check.command] } });
  expect(shown).toContain('  npm test took 1.5s\n');
  expect(shown).toMatch(/line 49\n {2}␛\[2Jred␛\[31m$/);
  expect(shown).not.toContain('line 30\n');
  expect(shown).not.toContain('\u001b');
});
