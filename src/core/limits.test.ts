import { expect, test } from 'vitest';
import { HubSettings } from '../schema/config.ts';
import { SpawnFuse } from './limits.ts';

const limits = HubSettings.parse({});
const NOW = 1_000_000;

test('as many runs a minute as allowed, and not one more', () => {
  const fuse = new SpawnFuse();
  fuse.admit(29, 0, limits, NOW);
  fuse.admit(1, 0, limits, NOW + 1000);
  expect(() => fuse.admit(1, 0, limits, NOW + 2000)).toThrow(
    expect.objectContaining({
      code: 'SPAWN_RATE_LIMIT',
      message: expect.stringContaining('limits.spawns_per_minute is 30'),
    }),
  );
});

test('a refused call counts for nothing, and a minute later there is room again', () => {
  const fuse = new SpawnFuse();
  expect(() => fuse.admit(31, 0, limits, NOW)).toThrow('31 in a minute');
  fuse.admit(30, 0, limits, NOW);
  expect(() => fuse.admit(1, 0, limits, NOW + 59_999)).toThrow();
  fuse.admit(30, 0, limits, NOW + 60_000);
});

test('starts that an earlier hub let through count until they are a minute old', () => {
  const fuse = new SpawnFuse();
  fuse.recall(Array.from({ length: 30 }, () => NOW - 30_000));
  expect(() => fuse.admit(1, 0, limits, NOW)).toThrow('31 in a minute');
  fuse.admit(30, 0, limits, NOW + 30_000);
});

test('a refusal says how to raise the limit', () => {
  const fuse = new SpawnFuse();
  expect(() => fuse.admit(40, 0, limits, NOW)).toThrow(
    expect.objectContaining({
      suggestions: [expect.stringContaining('squad config set limits.spawns_per_minute 40')],
    }),
  );
});

test('runs may start runs two levels deep, no deeper', () => {
  const fuse = new SpawnFuse();
  fuse.admit(1, 2, limits, NOW);
  expect(() => fuse.admit(1, 3, limits, NOW)).toThrow(expect.objectContaining({ code: 'DEPTH_LIMIT' }));
});
