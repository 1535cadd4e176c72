import { setTimeout as pause } from 'node:timers/promises';
import type { Kysely, Transaction } from 'kysely';
import type { Admission, HubCallRows, HubLeases, Notice, OtherHub } from '../core/ports/store.ts';
import type { SquadError } from '../schema/error.ts';
import type { RunId } from '../schema/ids.ts';
import type { ClusterReport, HubFacts, HubReport } from '../schema/machines/cluster.ts';
import type { NewEventRow, Tables } from './tables.ts';

/** SQL that Kysely cannot express. Everything else uses `db`. */
export interface Backend {
  /** Database for reading. Writes go through `write`. */
  db: Kysely<Tables>;
  /**
   * Connection for queries that read many rows and write nothing. In a database with many runs these queries run in a
   * thread, so that other work waits for at most one of them.
   */
  reports(): Kysely<Tables>;
  /** Runs `work` in a transaction. Transactions run one at a time. */
  write<T>(work: (trx: Transaction<Tables>) => Promise<T>): Promise<T>;
  /**
   * Appends events inside the open transaction and returns their numbers, which are valid only after the commit. Call
   * this late in the transaction, because other sessions cannot append until the commit.
   */
  append(trx: Transaction<Tables>, events: NewEventRow[]): Promise<number[]>;
  /** Number of the last event ever appended, even if it was pruned. */
  lastSequence(): Promise<number>;
  /** Id of this hub, if several hubs can use the database. Null for SQLite. */
  hub: string | null;
  /** Records that this hub uses the database, if several hubs can. Call this after the migrations. */
  register?(version: string): Promise<void>;
  /** Null if only one hub can use the database. */
  leases?: HubLeases;
  /** Calls the listener after changes of other hubs that this one must read. Returns a function that unsubscribes. */
  onNotice?(listener: (notice: Notice) => void): () => void;
  /** All hubs that have used the database, if several can. */
  listHubs?(): Promise<Omit<HubReport, 'answer' | 'isOwn'>[]>;
  /** Asks all hubs for facts about themselves. */
  reportHubs?(): Promise<ClusterReport>;
  /** Facts with which this hub answers such questions. */
  answerHubs?(facts: () => HubFacts): void;
  /** The hub that owns the run. Null if it is this hub. */
  otherOwner?(runId: RunId): Promise<OtherHub | null>;
  /** Name of the hub of each run. Empty if there is only one hub. */
  hubsOf?(ids: readonly RunId[]): Promise<Map<RunId, string>>;
  /** Throws if new runs would exceed a limit that all hubs share. */
  admit?(trx: Transaction<Tables>, admission: Admission): Promise<void>;
  /** Requests of hubs to each other, if several hubs can use the database. */
  calls?: HubCallRows;
  /** Makes the database skip event numbers up to this one, so that they are never used again. */
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
  /** Kinds of failures that are retried. */
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
