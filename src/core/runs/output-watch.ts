import type { HubSettings } from '../../schema/config.ts';
import type { RunId } from '../../schema/ids.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { TurnRef } from '../ports/turns.ts';

const LOOK_EVERY_MS = 1_000;

export interface OutputWatchOptions {
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
