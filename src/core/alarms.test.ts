import { expect, test } from 'vitest';
import { Alarms } from './alarms.ts';

test('each rings once, at its time and not before, in the order of the times', async () => {
  const clock = { now: () => Date.now() };
  const rung: [string, boolean][] = [];
  const start = clock.now();
  const times: Record<string, number> = { late: start + 60, soon: start + 20, past: start - 1_000 };
  await new Promise<void>(settle => {
    const alarms = new Alarms<string>(clock, key => {
      rung.push([key, clock.now() >= times[key]!]);
      if (key === 'late') settle();
    });
    for (const [key, at] of Object.entries(times)) alarms.set(key, at);
    alarms.set('never', start + 10);
    alarms.set('never', null);
    alarms.set('far', start + 10 ** 12);
  });
  expect(rung).toEqual([
    ['past', true],
    ['soon', true],
    ['late', true],
  ]);
});
