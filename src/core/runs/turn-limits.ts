import type { Clock } from '../../base/clock.ts';
import type { HubSettings } from '../../schema/config.ts';
import type { RunId } from '../../schema/ids.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { TurnRef } from '../ports/turns.ts';

const LOOK_EVERY_MS = 1_000;

interface OutputWatchOptions {
  files: Pick<RunFiles, 'size'>;
  settings(): HubSettings;
  /** Those at work now. */
  turns(): TurnRef[];
  /** It has written more since the last look. */
  onGrowth(runId: RunId): void;
  onTooMuch(runId: RunId): Promise<unknown>;
  warn(message: string, cause: unknown): void;
}

/** Looks at how much live turns have written, once a second: a fast writer is over the limit by what a second holds. */
export function watchOutput({ files, settings, turns, onGrowth, onTooMuch, warn }: OutputWatchOptions): {
  close(): void;
} {
  const seen = new Map<RunId, number>();
  let isLooking = false;
  const timer = setInterval(() => void look(), LOOK_EVERY_MS).unref();
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

/** Bytes written by this turn and those before it: the limit is the run's, and earlier output is still on disk. */
export async function outputSize(files: Pick<RunFiles, 'size'>, turn: TurnRef): Promise<number> {
  const turns = Array.from({ length: turn.number }, (_, at) => ({ ...turn, number: at + 1 }));
  const sizes = await Promise.all(
    turns.flatMap(each => [files.size(each, 'stdout'), files.size(each, 'stderr')]),
  );
  return sizes.reduce((sum, each) => sum + each, 0);
}

/** Stored deadlines on the monotonic clock, so that a clock that is set neither brings them nearer nor puts them off. */
export class Deadlines<K> {
  private readonly clock: Clock;
  private readonly due = new Map<K, number>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Milliseconds left, by the wall clock only the first time, and never more than there were in all. */
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
