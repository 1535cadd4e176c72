import { expect, test } from 'vitest';
import { createStyle } from '../terminal/style.ts';
import { serverRow } from './mcp-status.ts';

const NOW = 1_000_000;
const upstream = {
  ...({ workspace: '/repo', server: 'db', type: 'stdio', instance: 'shared', health: 'up' } as const),
  ...{ since: NOW - 90_000, upSince: NOW - 90_000, retryAt: null, fault: null, lastFault: null },
  ...({ pid: 1, era: 'legacy', serverName: 'db', tools: 3, pending: 0, runs: 2, callsInFlight: 0 } as const),
  ...{ calls: 7, failures: 0, stray: 0, restarts: 0, refused: [] },
};
type Changed = Partial<Parameters<typeof serverRow>[0]>;
const row = (more: Changed, color = false) => serverRow({ ...upstream, ...more }, NOW, createStyle(color));
const late = { message: 'no answer within 60 s', at: NOW - 65_000 };

test('a server that is well has no fault', () => {
  expect(row({})).toEqual(['db', 'stdio', 'up', '1m30s', '3', '', '2', '7', '']);
});

test('a server that is being checked is not up, is retried now, and has its fault', () => {
  const since = { since: late.at, upSince: null, retryAt: late.at };
  expect(row({ health: 'checking', ...since, fault: late.message, lastFault: late, failures: 1 })).toEqual([
    ...['db', 'stdio', 'checking, retry now', '–', '3', '', '2', '7 (1 failed)', 'no answer within 60 s'],
  ]);
});

test('a past fault is shown with its age, and not in the colour of a current fault', () => {
  expect(row({ lastFault: late, failures: 1 }).at(-1)).toBe('1m05s ago: no answer within 60 s');
  const { red, dim } = createStyle(true);
  expect(row({ lastFault: late }, true).at(-1)).toBe(dim('1m05s ago: no answer within 60 s'));
  expect(row({ health: 'cooling', fault: late.message, lastFault: late }, true).at(-1)).toBe(
    red('no answer within 60 s'),
  );
});

test('when it is tried again stands behind its state', () => {
  expect(row({ health: 'retrying', retryAt: NOW + 4_000 })[2]).toBe('retrying, retry in 4.0s');
});
