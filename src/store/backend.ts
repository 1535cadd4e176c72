import type { ColumnDefinitionBuilder, Kysely, Transaction } from 'kysely';
import type { SquadError } from '../schema/error.ts';
import type { NewEventRow, Tables } from './tables.ts';

/** Everything that differs from one database to the other. What is not here is written once, in Kysely. */
export interface Backend {
  db: Kysely<Tables>;
  words: ColumnTypes;
  /** Appends inside the open transaction and returns the numbers given, which hold only once it has committed. */
  append(trx: Transaction<Tables>, events: NewEventRow[]): Promise<number[]>;
  /** The number of the last event that was ever appended, pruned ones included. */
  lastSequence(): number;
  /** Numbers up to this one are not given again. */
  skipTo(trx: Transaction<Tables>, seq: number): Promise<void>;
  /** Checks the whole file, which takes seconds for a large one. Returns the fault; null: there is none. */
  fault(): string | null;
  failureOf(thrown: unknown): Failure;
  close(): Promise<void>;
}

/** The few words of a table definition the databases do not share. */
export interface ColumnTypes {
  sequenceType: 'integer' | 'bigserial';
  sequence(column: ColumnDefinitionBuilder): ColumnDefinitionBuilder;
  /** SQL for a field of a column that holds a JSON object. */
  jsonField(column: string, field: string): string;
}

/**
 * locked: another process is writing; full: no room on the disk; both may pass by themselves.
 * refused: this one change is at fault. broken: nothing can be written or read now.
 */
export interface Failure {
  kind: 'locked' | 'full' | 'refused' | 'broken';
  error: SquadError;
}
