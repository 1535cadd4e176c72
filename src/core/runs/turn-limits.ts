import type { Clock } from '../../base/clock.ts';
import type { HubSettings } from '../../schema/config.ts';
import type { RunId } from '../../schema/ids.ts';
import type { OutputStream, RunFiles } from '../ports/run-files.ts';
import type { TurnRef } from '../ports/turns.ts';

const CHECK_INTERVAL_MS = 1_000;

interface OutputWatchOptions {
  files: Pick<RunFiles, 'size'>;
  settings(): HubSettings;
  turns(): TurnRef[];
  /** Called when the run has written output since the last check. */
  onGrowth(runId: RunId): void;
  onTooMuch(runId: RunId): Promise<unknown>;
  warn(message: string, cause: unknown): void;
}

/**
 * Checks once a second how much running turns have written. A fast writer can exceed the limit by one second's
 * output.
 */
export function watchOutput({ files, settings, turns, onGrowth, onTooMuch, warn }: OutputWatchOptions): {
  close(): void;
} {
  const seen = new Map<RunId, number>();
  let isLooking = false;
  const timer = setInterval(() => void look(), CHECK_INTERVAL_MS).unref();
  return { close: () => clearInterval(timer) };

  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    const live = turns();
    for (const id of seen.keys()) if (!live.some(({ runId }) => runId === id)) seen.delete(id);
    for (const turn of live)
      await check(turn).catch(thrown => warn(`The output of ${turn.runId} could not be measured`, thrown));
    isLooking = false;
  }

  async function check(turn: TurnRef): Promise<void> {
    const size = await outputSize(files, turn);
    if (size > (seen.get(turn.runId) ?? 0)) onGrowth(turn.runId);
    seen.set(turn.runId, size);
    if (size > settings()['output.max_bytes']) await onTooMuch(turn.runId);
  }
}

/** Bytes written by this turn and earlier ones, because the limit is per run and earlier output is still on disk. */
export async function outputSize(files: Pick<RunFiles, 'size'>, { runId, number }: TurnRef): Promise<number> {
  const [out, err] = await Promise.all([
    turnSizes(files, runId, number, 'stdout'),
    turnSizes(files, runId, number, 'stderr'),
  ]);
  return total([...out, ...err]);
}

/** Size of one output stream in each of the first `count` turns. */
export const turnSizes = (
  files: Pick<RunFiles, 'size'>,
  runId: RunId,
  count: number,
  stream: OutputStream,
): Promise<number[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => files.size({ runId, number: at + 1 }, stream)));

export const total = (sizes: readonly number[]): number => sizes.reduce((sum, size) => sum + size, 0);

/** Keeps stored deadlines on the monotonic clock, so that changes of the wall clock do not move them. */
export class Deadlines<K> {
  private readonly clock: Clock;
  private readonly due = new Map<K, number>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /**
   * Milliseconds left until a deadline. Uses the wall clock only the first time, and never returns more than the
   * whole duration.
   */
  left(key: K, { from, until }: { from: number; until: number }): number {
    const now = this.clock.monotonic();
    const due = this.due.get(key) ?? now + Math.min(until - this.clock.now(), until - from);
    this.due.set(key, due);
    return due - now;
  }

  forget(key: K): void {
    this.due.delete(key);
  }
}
