import { afterEach, expect, test, vi } from 'vitest';
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

test('those it is late for ring in the order of their times', async () => {
  let now = 0;
  const rung: string[] = [];
  await new Promise<void>(settle => {
    const alarms = new Alarms<string>({ now: () => now }, key => rung.push(key) === 3 && settle());
    for (const [key, at] of Object.entries({ third: 3, first: 1, second: 2 })) alarms.set(key, at);
    now = 10;
  });
  expect(rung).toEqual(['first', 'second', 'third']);
});

afterEach(() => void vi.useRealTimers());

test('a machine that slept past the time finds it out soon, though its timers stood still', () => {
  vi.useFakeTimers();
  let now = 0;
  const rung: string[] = [];
  const alarms = new Alarms<string>({ now: () => now }, key => rung.push(key));
  alarms.set('far', 3_600_000);
  now = 3_600_001;
  vi.advanceTimersByTime(30_000);
  expect(rung).toEqual(['far']);
  alarms.close();
});
