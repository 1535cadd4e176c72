import { expect, test } from 'vitest';
import { Alarms, type Clock } from './clock.ts';

/** Time that passes as the test says, on a clock that nobody sets. */
const clockOf = (monotonic: () => number): Clock => ({ now: monotonic, monotonic });

test('each rings once, at its time and not before, in the order of the times', async () => {
  const rung: [string, boolean][] = [];
  const start = performance.now();
  const times: Record<string, number> = { late: 60, soon: 20, past: -1_000 };
  await new Promise<void>(settle => {
    const alarms = new Alarms<string>(
      clockOf(() => performance.now()),
      key => {
        rung.push([key, performance.now() >= start + times[key]!]);
        if (key === 'late') settle();
      },
    );
    for (const [key, inMs] of Object.entries(times)) alarms.set(key, inMs);
    alarms.set('never', 10);
    alarms.set('never', null);
    alarms.set('far', 10 ** 12);
  });
  expect(rung).toEqual([
    ['past', true],
    ['soon', true],
    ['late', true],
  ]);
});

test('due alarms ring in the order of their times', async () => {
  let now = 0;
  const rung: string[] = [];
  await new Promise<void>(settle => {
    const alarms = new Alarms<string>(
      clockOf(() => now),
      key => rung.push(key) === 3 && settle(),
    );
    for (const [key, inMs] of Object.entries({ third: 3, first: 1, second: 2 })) alarms.set(key, inMs);
    now = 10;
  });
  expect(rung).toEqual(['first', 'second', 'third']);
});
