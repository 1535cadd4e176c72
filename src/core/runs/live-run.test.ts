import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Run, Turn } from '../../schema/run.ts';
import { LiveRun } from './live-run.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const HOUR_MS = 3_600_000;

test.each([
  ['set back by a day while the turn runs', 0, -24 * HOUR_MS],
  ['set forward by a day while the turn runs', 0, 24 * HOUR_MS],
  ['set back by a day since the turn began', 24 * HOUR_MS, 0],
])('a turn ends after its whole time at the latest, with a clock %s', (_, ahead, jump) => {
  let now = 1_000_000;
  const run = { id: 'run_1', chatId: null, timeoutMs: HOUR_MS, createdAt: now, options: { subagent: null } };
  const entry = new LiveRun(run as unknown as Run, {} as never, null);
  entry.turn = { deadlineAt: now + ahead + HOUR_MS } as Turn;
  const ended = vi.fn();
  entry.atDeadline({ now: () => now, monotonic: () => 0 }, ended);
  now += jump;
  vi.advanceTimersByTime(HOUR_MS - 1);
  expect(ended).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(ended).toHaveBeenCalledOnce();
});

test('the timeout of a call runs from the call on, also in the queue, however the clock is set', () => {
  const time = { now: 1_000_000, passed: 0 };
  const clock = { now: () => time.now, monotonic: () => time.passed };
  const run = { id: 'run_1', chatId: null, timeoutMs: 500, createdAt: time.now, options: {} };
  const entry = new LiveRun(run as unknown as Run, {} as never, null);
  const ended = vi.fn();
  expect(entry.timeLeft(clock)).toBe(500);
  entry.atDeadline(clock, ended);
  time.passed = 400;
  time.now += HOUR_MS;
  expect(entry.timeLeft(clock)).toBe(100);
  entry.turn = { deadlineAt: time.now + 100 } as Turn;
  time.now -= 2 * HOUR_MS;
  entry.atDeadline(clock, ended);
  vi.advanceTimersByTime(99);
  expect(ended).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(ended).toHaveBeenCalledOnce();
});

test('the deadline follows the clock as it is set now', () => {
  const time = { now: 1_000_000, passed: 0 };
  const clock = { now: () => time.now, monotonic: () => time.passed };
  const run = { id: 'run_1', chatId: null, timeoutMs: 500, options: {} };
  const entry = new LiveRun(run as unknown as Run, {} as never, null);
  expect(entry.deadlineNow(clock)).toBeNull();
  entry.atDeadline(clock, () => {});
  time.now += HOUR_MS;
  expect(entry.deadlineNow(clock)).toBe(1_000_500 + HOUR_MS);
});
