import { expect, onTestFinished, test, vi } from 'vitest';
import type { RunId } from '../../schema/ids.ts';
import type { LiveRun } from './live-run.ts';
import { StallWatch } from './stall-watch.ts';

const ID = 'run_0000000001' as RunId;
const MINUTE = 60_000;

/** Ten minutes after its start, with a process that does nothing. */
function watchOf(entry: Partial<LiveRun>, isAsking: boolean): { watch: StallWatch; entry: LiveRun } {
  const live = {
    run: { id: ID, parentId: null, options: { stallMs: null } },
    turn: { startedAt: 0 },
    process: { processStats: async () => ({ alive: true, stopped: false }) },
    ...{ waits: 0, lastSignAt: null },
    ...entry,
  } as unknown as LiveRun;
  const watch = new StallWatch({
    clock: { now: () => 10 * MINUTE, monotonic: () => 10 * MINUTE },
    live: () => [live],
    isAsking: () => isAsking,
    ...{ stop: () => {}, record: () => {} },
    warn: (_, cause) => {
      throw cause;
    },
  });
  onTestFinished(() => watch.close());
  return { watch, entry: live };
}

test('a run without any output is reported as slow_start; one with output before this hub is silent', async () => {
  const { watch: unheard } = watchOf({}, false);
  const { watch: spoke } = watchOf({ lastSignAt: MINUTE }, false);
  await expect.poll(() => unheard.of(ID)?.state).toBe('slow_start');
  await expect.poll(() => spoke.of(ID)?.state).toBe('silent');
});

test('a run with an open question is not silent, although no call waits', async () => {
  const { watch, entry } = watchOf({ lastSignAt: MINUTE }, true);
  await expect.poll(() => entry.lastSignAt).toBe(10 * MINUTE);
  expect(watch.of(ID)).toBeNull();
});

test.each([
  ['ahead', 60 * MINUTE],
  ['back', -60 * MINUTE],
])(
  'a clock that is set an hour %s changes nothing about when a run has stalled',
  { tags: ['R23'] },
  async (_, by) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    let setBy = 0;
    const start = performance.now();
    const monotonic = () => performance.now() - start;
    const stop = vi.fn();
    const live = {
      run: { id: ID, parentId: null, options: { stallMs: MINUTE } },
      turn: { startedAt: 0 },
      process: {
        processStats: async () => ({ alive: true, stopped: false, processes: 1, cpuMs: 0, ioBytes: 0 }),
      },
      ...{ waits: 0, lastSignAt: null },
    } as unknown as LiveRun;
    const watch = new StallWatch({
      clock: { now: () => monotonic() + setBy, monotonic },
      ...{ live: () => [live], isAsking: () => false, stop, record: () => {}, warn: () => {} },
    });
    onTestFinished(() => watch.close());
    await vi.advanceTimersByTimeAsync(45_000);
    setBy = by;
    await vi.advanceTimersByTimeAsync(25_000);
    expect(stop).not.toHaveBeenCalled();
    expect(watch.of(ID)).toMatchObject({ state: 'slow_start', since: expect.closeTo(by, -4) });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(stop).toHaveBeenCalled();
  },
);
