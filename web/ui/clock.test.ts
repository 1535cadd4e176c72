import { effect } from '@preact/signals';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { nowFor } from './clock.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000_000_000 });
  vi.stubGlobal('document', { hidden: false });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test.each([
  { age: 5_000, draws: 60 },
  { age: 10 * 60_000, draws: 4 },
  { age: -10 * 60_000, draws: 4 },
  { age: 5 * 3_600_000, draws: 0 },
])('a text about $age ms ago is drawn $draws times a minute', ({ age, draws }) => {
  const clock = nowFor(Date.now() - age);
  let drawn = 0;
  const stop = effect(() => {
    if (clock.value > 0) drawn++;
  });
  const first = drawn;
  vi.advanceTimersByTime(60_000);
  stop();
  expect(drawn - first).toBe(draws);
});
