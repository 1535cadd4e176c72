import type { Kysely, Transaction } from 'kysely';
import type { SquadError } from '../schema/error.ts';
import type { NewEventRow, Tables } from './tables.ts';

/** SQL that Kysely cannot express. Everything else uses `db`. */
export interface Backend {
  db: Kysely<Tables>;
  /** Appends inside the open transaction. The returned numbers are valid only after it has committed. */
  append(trx: Transaction<Tables>, events: NewEventRow[]): Promise<number[]>;
  /** The number of the last event ever appended, including pruned ones. */
  lastSequence(): number;
  /** Numbers up to this one are not used again. */
  skipTo(trx: Transaction<Tables>, seq: number): Promise<void>;
  /** Checks the whole file, which takes seconds for a large one. Returns the fault, or null. */
  fault(): string | null;
  failureOf(thrown: unknown): Failure;
  close(): Promise<void>;
}

/**
 * locked: another process is writing. full: the disk is full. Retrying may help with both.
 * refused: this one change is at fault. broken: the database cannot be used now.
 */
export interface Failure {
  kind: 'locked' | 'full' | 'refused' | 'broken';
  error: SquadError;
}
