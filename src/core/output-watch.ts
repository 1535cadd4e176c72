import type { HubSettings } from '../schema/config.ts';
import type { RunId } from '../schema/ids.ts';
import type { RunFiles, TurnRef } from './ports.ts';

const LOOK_EVERY_MS = 1_000;

export interface OutputWatchOptions {
  files: Pick<RunFiles, 'size'>;
  settings(): HubSettings;
  /** Those at work now. */
  turns(): TurnRef[];
  onTooMuch(runId: RunId): Promise<unknown>;
  warn(message: string, cause: unknown): void;
}

/** Looks at how much live turns have written, once a second: a fast writer is over the limit by what a second holds. */
export function watchOutput({ files, settings, turns, onTooMuch, warn }: OutputWatchOptions): {
  close(): void;
} {
  let isLooking = false;
  const timer = setInterval(() => void look(), LOOK_EVERY_MS).unref();
  return { close: () => clearInterval(timer) };

  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    for (const turn of turns())
      await check(turn).catch(thrown => warn(`The output of ${turn.runId} could not be measured`, thrown));
    isLooking = false;
  }

  async function check(turn: TurnRef): Promise<void> {
    const sizes = await Promise.all([files.size(turn, 'stdout'), files.size(turn, 'stderr')]);
    if (sizes[0] + sizes[1] > settings()['output.max_bytes']) await onTooMuch(turn.runId);
  }
}
