import type { RunId } from '../../schema/ids.ts';
import type { RunRecord } from '../runs/run-record.ts';

/** Runs as their folders tell of them, without a database. */
export interface RunSource {
  /** Every run that has a folder, and when the folder last changed. */
  list(): Promise<{ runId: RunId; changedAt: number }[]>;
  /** Null when there is none, or it cannot be read. */
  record(id: RunId): Promise<RunRecord | null>;
  /** As much as can be told without a record. Null for a run that was never started: nobody was promised anything. */
  unrecorded(id: RunId, changedAt: number): Promise<RunRecord | null>;
}
