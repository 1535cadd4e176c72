import { expect, test } from 'vitest';
import type { HubReport } from '../../schema/machines/cluster.ts';
import { clusterProblems } from './cluster-problems.ts';

const ANSWER = {
  ...{ version: '1.2.3', pid: 1, startedAt: 1, now: 2, memoryBytes: 3 },
  ...{ tookMs: 5, clockAheadMs: 0 },
};

/** A hub without problems. */
const hub = (change: Partial<HubReport> = {}): HubReport => ({
  ...{ id: 'home_1', home: '/home/one', host: 'box', isOwn: false, isConnected: true },
  ...{ running: 1, queued: 0, version: '1.2.3', silentMs: 1_000, leaseMs: 15_000, answer: ANSWER },
  ...change,
});

const problemsOf = (...hubs: HubReport[]) => clusterProblems({ hubs }).map(({ message }) => message);

test.each<[string, Partial<HubReport>, string | null]>([
  ['no problem', {}, null],
  ['stopped without runs', { isConnected: false, answer: null, running: 0 }, null],
  ['stopped with runs', { isConnected: false, answer: null }, 'is not running, and 1 of its runs'],
  ['connected without an answer', { answer: null }, 'does not answer'],
  ['a clock ahead', { answer: { ...ANSWER, clockAheadMs: 3_600_000 } }, '3600.0 s ahead of'],
  ['a clock behind', { answer: { ...ANSWER, clockAheadMs: -5_000 } }, '5.0 s behind'],
  [
    'a clock that a slow answer measures badly',
    { answer: { ...ANSWER, tookMs: 900, clockAheadMs: 2_400 } },
    null,
  ],
  ['a late answer', { answer: { ...ANSWER, tookMs: 1_500 } }, 'answered after 1.5 s'],
  [
    'a late heartbeat',
    { silentMs: 12_000 },
    'heartbeat of box:/home/one is 12 s old; its agents end after 15 s',
  ],
  ['an old heartbeat without a lease', { silentMs: 99_000, leaseMs: null }, null],
])('%s', (_, change, message) => {
  expect(problemsOf(hub(change))).toEqual(message === null ? [] : [expect.stringContaining(message)]);
});

test('different versions are one problem', () => {
  const newer = hub({ home: '/home/two', answer: { ...ANSWER, version: '1.3.0' } });
  expect(problemsOf(hub(), hub(), newer)).toEqual([
    expect.stringContaining('1.2.3 (box:/home/one, box:/home/one) and 1.3.0 (box:/home/two)'),
  ]);
});
