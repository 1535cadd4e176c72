import { expect, test } from 'vitest';
import type { RunId } from '../schema/ids.ts';
import type { LivePage } from './live-page.ts';
import { OutputWatches } from './output-watches.ts';

const TARGET = { runId: 'run_0123456789' as RunId, turn: 1, stream: 'stdout' as const };

test('an output that stays as it is is told of once', async () => {
  let looks = 0;
  const services = {
    files: {
      size: async () => {
        looks += 1;
        return 4;
      },
    },
    runner: { current: () => ({ turn: 1 }) },
  };
  const watches = new OutputWatches(services as never, 1);
  const told: string[] = [];
  const page = { send: (message: Buffer) => told.push(String(message)) } as unknown as LivePage;
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
