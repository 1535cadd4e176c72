import { join } from 'node:path';

/** Structurally the core's `TurnRef`. */
export interface TurnKey {
  runId: string;
  number: number;
}

export const isRunName = (name: string): boolean => /^[A-Za-z0-9_-]+$/.test(name);

/** Everything of one run lives in one folder, everything of one of its turns in a folder below. */
export function runFolder(runsDir: string, runId: string): string {
  // The name becomes a path that we write to and delete.
  if (!isRunName(runId)) throw new Error(`Not a run id: ${JSON.stringify(runId)}`);
  return join(runsDir, runId);
}

export function turnFolder(runsDir: string, turn: TurnKey): string {
  if (!Number.isSafeInteger(turn.number) || turn.number < 0) throw new Error(`Not a turn: ${turn.number}`);
  return join(runFolder(runsDir, turn.runId), `turn-${turn.number}`);
}
