import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Run } from '../../schema/run.ts';
import type { Call } from '../operation.ts';
import { waitForEnds, waitingCall } from './wait.ts';

let beats: string[];
let gone: AbortController;
let runs: { run: Run; end(): void; over: Promise<void> }[];

beforeEach(() => {
  vi.useFakeTimers();
  beats = [];
  gone = new AbortController();
  runs = ['a', 'b'].map(id => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const run = { id, status: 'running' } as unknown as Run;
    return {
      run,
      over: promise,
      end() {
        run.status = 'completed';
        resolve();
      },
    };
  });
});
afterEach(() => vi.useRealTimers());

function wait(ms: number | null): { isOver(): boolean } {
  const runner = {
    untilEnded: (id: string, signal: AbortSignal) =>
      Promise.race([
        runs.find(({ run }) => run.id === id)!.over,
        new Promise<void>(settle => signal.addEventListener('abort', () => settle())),
      ]),
  };
  const call = {
    services: { runner },
    signal: gone.signal,
    progress: async (message: string) => void beats.push(message),
  } as unknown as Call;
  let isOver = false;
  const all = runs.map(({ run }) => run);
  void waitForEnds(call, all, ms).then(() => {
    isOver = true;
  });
  return { isOver: () => isOver };
}

test('a heartbeat comes at once, every 15 seconds, and whenever a run has ended', async () => {
  const waiting = wait(null);
  await vi.advanceTimersByTimeAsync(0);
  expect(beats).toEqual(['2 running']);
  await vi.advanceTimersByTimeAsync(15_000);
  expect(beats).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(beats).toHaveLength(2 + 240);
  runs[0]!.end();
  await vi.advanceTimersByTimeAsync(0);
  expect(beats.at(-1)).toBe('1 completed, 1 running');
  expect(waiting.isOver()).toBe(false);
  runs[1]!.end();
  await vi.advanceTimersByTimeAsync(0);
  expect(waiting.isOver()).toBe(true);
  const before = beats.length;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(beats).toHaveLength(before);
});

test('the wait ends with its time or with the client, and so do the heartbeats', async () => {
  const timed = wait(40_000);
  await vi.advanceTimersByTimeAsync(39_999);
  expect(timed.isOver()).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(timed.isOver()).toBe(true);
  expect(beats).toHaveLength(3);

  const left = wait(null);
  await vi.advanceTimersByTimeAsync(0);
  gone.abort();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(left.isOver()).toBe(true);
  expect(beats).toHaveLength(4);
});

test('without time or runs to wait for there is no heartbeat', async () => {
  const now = wait(0);
  await vi.advanceTimersByTimeAsync(0);
  expect(now.isOver()).toBe(true);
  for (const run of runs) run.end();
  const ended = wait(null);
  await vi.advanceTimersByTimeAsync(0);
  expect(ended.isOver()).toBe(true);
  expect(beats).toEqual([]);
});

test.each([
  [45_000, 45],
  [9_000, 9],
  [500, 1],
  [3_240_000, 600],
  [null, 600],
  [undefined, 600],
])('a client that lets a call take %s ms is advised to wait %s s', (ceilingMs, seconds) => {
  expect(waitingCall({ spawn_id: 'run_1' }, ceilingMs)).toBe(
    `Call get_result {"spawn_id":"run_1","wait_seconds":${seconds}} to go on waiting.`,
  );
});
