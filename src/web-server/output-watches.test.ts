import { expect, test } from 'vitest';
import type { RunId } from '../schema/ids.ts';
import { type LiveClient, OutputWatches } from './live-socket.ts';

const TARGET = { runId: 'run_0123456789' as RunId, turn: 1, stream: 'stdout' as const };

test('an output that does not change is reported once', async () => {
  let looks = 0;
  const services = {
    files: {
      size: async () => {
        looks += 1;
        return 4;
      },
    },
    runner: { current: () => ({ turn: 1 }) },
    traces: { savedOf: () => 0 },
    elsewhere: async () => null,
  };
  const watches = new OutputWatches(services as never, 1);
  const told: string[] = [];
  const page = { send: (message: Buffer) => told.push(String(message)) > 0 } as unknown as LiveClient;
  watches.watch(page, TARGET);
  await expect.poll(() => looks).toBeGreaterThan(5);
  expect(told).toHaveLength(1);
  watches.unwatch(page, TARGET);
  const before = looks;
  watches.watch(page, { ...TARGET, turn: 2 });
  await expect.poll(() => looks).toBeGreaterThan(before + 5);
  expect(told).toHaveLength(2);
  watches.leave(page);
});

test('a slow client gets a message it could not take once it reads again, the end included', async () => {
  let [size, isOver, isBehind, tries] = [4, false, false, 0];
  const services = {
    files: { size: async () => size },
    runner: { current: () => (isOver ? null : { turn: 1 }) },
    traces: { savedOf: () => 0 },
    elsewhere: async () => null,
  };
  const watches = new OutputWatches(services as never, 1);
  const told: unknown[] = [];
  const send = (message: Buffer) => {
    tries += 1;
    if (isBehind) return false;
    const { size, isOver } = JSON.parse(String(message));
    told.push([size, isOver]);
    return true;
  };
  watches.watch({ send } as unknown as LiveClient, TARGET);
  await expect.poll(() => told).toEqual([[4, false]]);
  isBehind = true;
  size = 5;
  await expect.poll(() => tries).toBeGreaterThan(2);
  isBehind = false;
  await expect.poll(() => told.at(-1)).toEqual([5, false]);
  isBehind = true;
  isOver = true;
  const before = tries;
  await expect.poll(() => tries).toBeGreaterThan(before + 2);
  isBehind = false;
  await expect.poll(() => told.at(-1)).toEqual([5, true]);
  expect(told).toHaveLength(3);
});

test('a newly stored message is reported although the output does not change', async () => {
  let messages = 0;
  const services = {
    files: { size: async () => 4 },
    runner: { current: () => ({ turn: 1 }) },
    traces: { savedOf: () => messages },
  };
  const watches = new OutputWatches(services as never, 1);
  const told: number[] = [];
  const send = (message: Buffer) => told.push(JSON.parse(String(message)).messages) > 0;
  const page = { send } as unknown as LiveClient;
  watches.watch(page, TARGET);
  await expect.poll(() => told).toEqual([0]);
  messages = 2;
  await expect.poll(() => told).toEqual([0, 2]);
  watches.leave(page);
});
