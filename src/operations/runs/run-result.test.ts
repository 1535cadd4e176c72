import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Inbox } from '../../core/inbox/inbox.ts';
import { createRunFiles } from '../../process/output/run-files.ts';
import { HubSettings } from '../../schema/config.ts';
import { MAX_COMMITS_NAMED, MAX_FILES_NAMED } from '../../schema/evidence.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import { aRun, aSquad } from '../../store/fixtures/sample-rows.ts';
import { openStore } from '../../store/open.ts';
import type { UserServices } from '../operation.ts';
import { READ_ON, RESULT_LIMIT, RunResult, runResult } from './run-result.ts';
import { parallelResult } from './spawn-parallel.ts';

const squad = aSquad();
const NASTY = '\u0001"\\😀';
let folder: string;
let services: UserServices;
/** The running run, if there is one. */
let asking: Run | null = null;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'squad-result-'));
  const store = await openStore({ database: join(folder, 'squad.db'), version: '1' });
  const files = createRunFiles<RunId>({ runsDir: join(folder, 'runs'), chatsDir: join(folder, 'chats') });
  const clock = { now: () => 1_700_000_060_000, monotonic: () => 0 };
  const inbox = new Inbox({
    ...{ store, clock },
    settings: () => HubSettings.parse({}),
    current: id => (id === asking?.id ? asking : null),
    timeLeft: () => null,
    checkpoint: () => {},
    warn: () => {},
  });
  services = { store, files, clock, inbox } as unknown as UserServices;
});
afterEach(async () => {
  await services.store.close();
  rmSync(folder, { recursive: true });
});

/** As much of everything as there can be. */
async function fullest(some: Partial<Run> = {}): Promise<Run> {
  const run = aRun(squad, {
    status: 'error',
    startedAt: 1_700_000_000_000,
    endedAt: 1_700_000_050_000,
    model: 'm'.repeat(500),
    error: { code: 'OUTPUT_MISMATCH', message: NASTY.repeat(2_000) },
    usage: { input: 1, output: 2, cached: 3, costUsd: 0.1, costIsEstimated: true },
    chatId: 'c'.repeat(200),
    policy: Array.from({ length: 8 }, (_, i) => ({
      rule: `rule ${i}`,
      heldBy: 'advisory' as const,
      note: NASTY.repeat(50),
    })),
    evidence: {
      exitCode: 0,
      durationMs: 1,
      toolCalls: 5,
      toolFailures: 1,
      toolDenials: 0,
      toolEdits: 0,
      filesChanged: { count: 999, files: Array(MAX_FILES_NAMED).fill(`M ${'deep/'.repeat(100)}`) },
      commits: {
        count: 9,
        newest: Array(MAX_COMMITS_NAMED).fill({ id: 'f'.repeat(40), subject: NASTY.repeat(50) }),
      },
      diff: { insertions: 1, deletions: 2 },
      leftoversKilled: 3,
      note: NASTY.repeat(500),
      verdict: 'contradicted',
    },
    ...some,
  });
  await services.files.saveAnswer(run.id, NASTY.repeat(20_000));
  await services.files.saveStructured(run.id, { text: 'x'.repeat(5_900) });
  return run;
}

describe('a result with as much of everything as there can be', () => {
  test('keeps to the limit, and says what is cut', { tags: ['C2'] }, async () => {
    const result = await runResult(services, await fullest(), {
      tool: 'spawn_agent',
      warnings: ['A warning. '.repeat(500)],
    });
    expect(JSON.stringify(result).length).toBeLessThanOrEqual(RESULT_LIMIT);
    expect(RunResult.parse(result)).toMatchObject({
      usage_source: 'estimated',
      truncated: true,
      output_file: expect.stringContaining('stdout'),
      evidence: { verdict: 'contradicted', files_changed: { count: 999 }, commits: { count: 9 } },
    });
  });

  test.each([1, 3, 10, 50])('keeps to it %i times over, each one told', { tags: ['C5'] }, async count => {
    const runs = await Promise.all(Array.from({ length: count }, () => fullest()));
    for (const aggregates of [false, true]) {
      const notes = ['A warning. '.repeat(500)];
      const result = await parallelResult(services, squad.id, runs, {
        aggregates,
        notes,
        tool: 'spawn_parallel',
      });
      expect(JSON.stringify(result).length).toBeLessThanOrEqual(RESULT_LIMIT);
      expect(result.results.map(({ spawn_id }) => spawn_id)).toEqual(runs.map(({ id }) => id));
      for (const each of result.results) expect(each).toMatchObject({ success: false, truncated: true });
      const isSaid = result.results.every(each => each.result?.includes('reads on'));
      expect(isSaid || result.note?.includes(READ_ON)).toBe(true);
    }
  });
});

test('cost is shown to a millionth of a dollar, without floating-point noise', async () => {
  const usage = { input: 1, output: 2, cached: 3, costUsd: 0.0033439999999999998, costIsEstimated: true };
  expect((await runResult(services, await fullest({ usage }))).cost_usd).toBe(0.003344);
});

test('a run that has not ended has neither text nor figures', async () => {
  const run = await fullest({ status: 'running', endedAt: null, usage: null, evidence: null, error: null });
  expect(await runResult(services, run)).toMatchObject({
    success: null,
    result: null,
    duration_seconds: null,
    cost_usd: null,
    tokens: null,
    usage_source: 'none',
    evidence: { verdict: null, leftovers_killed: null },
  });
});

test('a run that asks as much as it may says so within the limit, and how many more there are', async () => {
  const run = aRun(squad, { status: 'running', startedAt: 1_700_000_000_000 });
  asking = run;
  await services.store.commit({ squads: [squad], runs: [run], events: [] });
  for (let i = 0; i < 20; i++)
    await services.inbox.ask({
      ...{ run, kind: 'question' },
      question: `${i} ${NASTY.repeat(1_500)}`,
      details: NASTY.repeat(5_000),
      choices: Array.from({ length: 20 }, (_, at) => `${at} ${'ü"'.repeat(90)}`),
    });
  const result = await runResult(services, run);
  expect(JSON.stringify(result).length).toBeLessThanOrEqual(RESULT_LIMIT);
  expect(result.asks?.length).toBeGreaterThan(0);
  expect(result.note).toContain('and 19 more');
  expect(result.note).toContain(result.asks![0]!.item);
  asking = null;
});
