import { expect, onTestFinished, test, vi } from 'vitest';
import type { RunId } from '../schema/ids.ts';
import type { LiveRun } from './live-run.ts';
import { QuietWatch } from './quiet-watch.ts';

const ID = 'run_0000000001' as RunId;
const MINUTE = 60_000;

/** Ten minutes after its start, with a process that does nothing. */
function watchOf(entry: Partial<LiveRun>, isAsking: boolean): { watch: QuietWatch; entry: LiveRun } {
  const live = {
    run: { id: ID, parentId: null, options: { stallMs: null } },
    turn: { startedAt: 0 },
    process: { vitals: async () => ({ alive: true, stopped: false }) },
    ...{ waits: 0, lastSignAt: null },
    ...entry,
  } as unknown as LiveRun;
  const watch = new QuietWatch({
    clock: { now: () => 10 * MINUTE },
    live: () => [live],
    isAsking: () => isAsking,
    ...{ stop: () => {}, tell: () => {} },
    warn: (_, cause) => {
      throw cause;
    },
  });
  onTestFinished(() => watch.close());
  return { watch, entry: live };
}

test('a run that has not said a word is told to start slowly; one that spoke before this hub is silent', async () => {
  const { watch: unheard } = watchOf({}, false);
  const { watch: spoke } = watchOf({ lastSignAt: MINUTE }, false);
  await vi.waitFor(() => expect(unheard.of(ID)?.state).toBe('slow_start'), { timeout: 5_000 });
  await vi.waitFor(() => expect(spoke.of(ID)?.state).toBe('silent'), { timeout: 5_000 });
});

test('one with a question open is not quiet, although no call of it waits', async () => {
  const { watch, entry } = watchOf({ lastSignAt: MINUTE }, true);
  await vi.waitFor(() => expect(entry.lastSignAt).toBe(10 * MINUTE), { timeout: 5_000 });
  expect(watch.of(ID)).toBeNull();
});
