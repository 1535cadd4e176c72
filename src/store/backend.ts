import { setTimeout as pause } from 'node:timers/promises';
import type { Kysely, Transaction } from 'kysely';
import type { SquadError } from '../schema/error.ts';
import type { NewEventRow, Tables } from './tables.ts';

/** SQL that Kysely cannot express. Everything else uses `db`. */
export interface Backend {
  db: Kysely<Tables>;
  /**
   * Connection for queries that read many rows and write nothing. With many runs it is in a thread, so other work waits
   * for at most one of its queries.
   */
  reports(): Kysely<Tables>;
  /** Appends inside the open transaction. The returned numbers are valid only after it has committed. */
  append(trx: Transaction<Tables>, events: NewEventRow[]): Promise<number[]>;
  /** Number of the last event ever appended, even if it was pruned. */
  lastSequence(): number;
  /** Numbers up to this one are never used again. */
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

const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 250;

export interface RetryPolicy {
  failureOf(thrown: unknown): Failure;
  /** Failures to retry. */
  waitOut: Failure['kind'][];
  windowMs: number;
}

/** Retries with growing pauses until the write works or the retry window has passed. */
export async function withRetry<T>(work: () => Promise<T>, policy: RetryPolicy): Promise<T> {
  const giveUpAt = performance.now() + policy.windowMs;
  for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(wait * 2, MAX_PAUSE_MS)) {
    try {
      return await work();
    } catch (thrown) {
      const failure = policy.failureOf(thrown);
      if (!policy.waitOut.includes(failure.kind) || performance.now() + wait > giveUpAt) throw failure.error;
    }
    await pause(wait);
  }
}
