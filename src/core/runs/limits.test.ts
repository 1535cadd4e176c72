import { expect, test } from 'vitest';
import { HubSettings } from '../../schema/config.ts';
import type { Run } from '../../schema/run.ts';
import { SpawnLimit } from './admission.ts';

const limits = HubSettings.parse({});
const NOW = 1_000_000;

test('the allowed number of starts in a minute, and not one more', { tags: ['F3'] }, () => {
  const limit = new SpawnLimit();
  limit.admit({ count: 29, depth: 0 }, limits, NOW);
  limit.admit({ count: 1, depth: 0 }, limits, NOW + 1000);
  expect(() => limit.admit({ count: 1, depth: 0 }, limits, NOW + 2000)).toThrow(
    expect.objectContaining({
      code: 'SPAWN_RATE_LIMIT',
      message: expect.stringContaining('the limit is 30 (limits.spawns_per_minute)'),
    }),
  );
});

test('a refused call counts for nothing, and a minute later there is room again', () => {
  const limit = new SpawnLimit();
  expect(() => limit.admit({ count: 31, depth: 0 }, limits, NOW)).toThrow('31 starts in a minute');
  limit.admit({ count: 30, depth: 0 }, limits, NOW);
  expect(() => limit.admit({ count: 1, depth: 0 }, limits, NOW + 59_999)).toThrow();
  limit.admit({ count: 30, depth: 0 }, limits, NOW + 60_000);
});

test('starts that an earlier hub let through count until they are a minute old', () => {
  const limit = new SpawnLimit();
  limit.recall(Array.from({ length: 30 }, () => NOW - 30_000));
  expect(() => limit.admit({ count: 1, depth: 0 }, limits, NOW)).toThrow('31 starts in a minute');
  limit.admit({ count: 30, depth: 0 }, limits, NOW + 30_000);
});

test('a refusal says how to raise the limit', () => {
  const limit = new SpawnLimit();
  expect(() => limit.admit({ count: 40, depth: 0 }, limits, NOW)).toThrow(
    expect.objectContaining({
      suggestions: [expect.stringContaining('squad config set limits.spawns_per_minute 40')],
    }),
  );
});

test('runs may start runs two levels deep, no deeper', { tags: ['F3'] }, () => {
  const limit = new SpawnLimit();
  limit.admit({ count: 1, depth: 2 }, limits, NOW);
  expect(() => limit.admit({ count: 1, depth: 3 }, limits, NOW)).toThrow(
    expect.objectContaining({ code: 'DEPTH_LIMIT' }),
  );
});

test('a refusal names the runs that asked, the first one first', () => {
  const limit = new SpawnLimit();
  const callers = [
    { id: 'run_2', roleId: 'coder' },
    { id: 'run_1', roleId: 'lead' },
  ] as Run[];
  const lineage = '; asked for by lead run_1 → coder run_2';
  expect(() => limit.check({ count: 31, depth: 0, callers }, limits, NOW)).toThrow(
    `is 30 (limits.spawns_per_minute)${lineage}`,
  );
  expect(() => limit.check({ count: 1, depth: 3, callers }, limits, NOW)).toThrow(
    `is 2 (limits.depth)${lineage}`,
  );
});
