import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askHub } from '../../support/ask-hub.ts';
import { script } from '../../support/git-squad.ts';
import { TestSquad } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const runs: string[] = [];

beforeAll(async () => {
  squad.write(
    '.squad/decisions.md',
    '### 2026-02-01: Sessions live in Redis\n**What:** Not in the database.\n',
  );
  // Not in the task, which is searched too.
  squad.write('words.txt', 'the Redis of ours\u001b[2J is slow\n');
  for (const task of [`Talk${script('run cat words.txt')}`, `Redis for sessions${script('report done')}`]) {
    const { runIds } = await squad.json<{ runIds: [string] }>(['run', '-d', 'coder', task]);
    await squad.run(['wait', ...runIds]);
    runs.push(...runIds);
  }
});
afterAll(() => squad[Symbol.asyncDispose]());

interface Found {
  runs: { id: string }[];
  runsTotal: number;
  decisions: { found: { title: string }[]; total: number } | null;
  outputs: { runId: string; matches: { line: number; text: string }[] }[];
  searched: object;
}

test('words are found in tasks, decisions and what engines said, in one answer', async () => {
  const found = await squad.json<Found>(['search', 'redis']);
  expect(found).toMatchObject({
    runs: [{ id: runs[1] }],
    runsTotal: 1,
    decisions: { found: [{ title: 'Sessions live in Redis' }], total: 1 },
    outputs: [{ runId: runs[0], matches: [{ text: expect.stringContaining('the Redis of ours') }] }],
    searched: { runs: 2, stoppedBy: null },
  });
});

test('the terminal says it in three parts, harmlessly, with how far back output was read', async () => {
  const { stdout } = await squad.run(['search', 'redis']);
  expect(stdout).toMatch(
    new RegExp(
      `^Runs 1\n.*\n${runs[1]} .*\n\nDecisions 1\n.*Sessions live in Redis\n.*\n\nOutput 1\n${runs[0]}  coder  Talk.*\n +\\d+: .*the Redis of ours.*is slow`,
      'm',
    ),
  );
  expect(stdout).toMatch(
    /Searched the output of the newest 2 runs of this workspace \(--all for every one\), back to .* ago\.\n$/,
  );
  expect(stdout).not.toContain('\u001b');
  expect((await squad.run(['search', 'zebra', 'crossing'])).stdout).toMatch(/^No matches\.\n/);
});

test('another workspace has none of it unless asked for all; a caller in no folder has no decisions', async () => {
  squad.write('other/.keep', '');
  const other = ['--workspace', `${squad.workspace}/other`];
  expect(await squad.json<Found>(['search', 'redis', ...other])).toMatchObject({
    ...{ runs: [], outputs: [], decisions: { total: 0 } },
  });
  expect((await squad.json<Found>(['search', 'redis', '--all', ...other])).runs).toHaveLength(1);
  const { url, tokenFile } = await askHub<{ url: string; tokenFile: string }>(squad, 'hub_status');
  const response = await fetch(`${new URL(url).origin}/api/search?q=redis`, {
    headers: { authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}` },
  });
  expect(await response.json()).toMatchObject({ runsTotal: 1, decisions: null });
});

test('a search without words is refused', async () => {
  expect((await squad.run(['search', ' '])).code).toBe(2);
});
