import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Run, Turn } from '../schema/run.ts';
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
  entry.atDeadline({ now: () => now }, ended);
  now += jump;
  vi.advanceTimersByTime(HOUR_MS - 1);
  expect(ended).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(ended).toHaveBeenCalledOnce();
});
