import type { Transaction } from 'kysely';
import { SquadError } from '../schema/error.ts';
import type { Event, NewEvent } from '../schema/event.ts';
import { type Backend, withRetry } from './backend.ts';
import type { NewEventRow, Tables } from './tables.ts';

/** How long a write that is not urgent waits for others to join its transaction. */
const SHARE_MS = 30;
/** Maximum number of changes in a transaction, because a transaction blocks the event loop. */
const MAX_AT_ONCE = 500;

export interface Write {
  /**
   * Writes the rows inside the shared transaction. Called again in another transaction if the first one is rolled back.
   */
  apply(trx: Transaction<Tables>): Promise<void>;
  /** Events as rows. The events of all writes in a transaction are appended together at the end of the transaction. */
  rows?: NewEventRow[];
  events: NewEvent[];
  mayWait: boolean;
  /**
   * True if the write needs its own transaction, because it deletes events and the events of earlier writes must be
   * stored before.
   */
  isAlone?: boolean;
}

interface Queued extends Write {
  resolve(): void;
  reject(error: SquadError): void;
  numbers: number[];
  refusal: SquadError | null;
}

/**
 * One queue, one transaction at a time. When writing fails:
 * - One change is at fault (a constraint, a value that cannot be stored): only that change is rejected. The rest of its
 *   transaction is written without it.
 * - The database is locked or the disk is full: everything stays queued in order. The writer retries with pauses until it works
 *   or the retry window is over.
 * - The window is over, or retrying cannot help: everything queued at that moment is rejected in order. So every caller learns of
 *   a lost change, and no change is written after an earlier one in the same queue was not. Later changes start with an empty
 *   queue and a new window.
 * - The file is damaged: the same, and nothing more is written to it.
 */
export class Writer {
  readonly #backend: Backend;
  readonly #windowMs: number;
  readonly #queue: Queued[] = [];
  readonly #listeners = new Set<(events: Event[]) => void>();
  #state: 'idle' | 'sharing' | 'due' | 'writing' = 'idle';
  #sharing: NodeJS.Timeout | undefined;
  #refuseAll: SquadError | null = null;

  constructor(backend: Backend, windowMs: number) {
    this.#backend = backend;
    this.#windowMs = windowMs;
  }

  add(write: Write): Promise<void> {
    if (this.#refuseAll) return Promise.reject(this.#refuseAll);
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...write, resolve, reject, numbers: [], refusal: null });
      this.#schedule();
    });
  }

  onEvents(listener: (events: Event[]) => void): () => void {
    // Wrapped in an object, so that a function registered twice is two listeners that can be removed separately.
    const entry = (events: Event[]) => listener(events);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  async flush(): Promise<void> {
    if (this.#queue.length > 0) await this.add({ apply: async () => {}, events: [], mayWait: false });
  }

  async close(): Promise<void> {
    const flushed = this.flush();
    this.#refuseAll ??= closed();
    // The caller of a change that fails gets the error from that change.
    await flushed.catch(() => {});
  }

  #schedule(): void {
    if (this.#state === 'writing' || this.#state === 'due' || this.#queue.length === 0) return;
    const patient = this.#queue.length < MAX_AT_ONCE && this.#queue.every(write => write.mayWait);
    if (patient && this.#state === 'sharing') return;
    clearTimeout(this.#sharing);
    this.#state = patient ? 'sharing' : 'due';
    if (patient) this.#sharing = setTimeout(() => void this.#writeSome(), SHARE_MS);
    else setImmediate(() => void this.#writeSome());
  }

  async #writeSome(): Promise<void> {
    this.#state = 'writing';
    const alone = this.#queue.findIndex(write => write.isAlone);
    const batch = this.#queue.slice(
      0,
      alone === -1 ? MAX_AT_ONCE : Math.max(1, Math.min(alone, MAX_AT_ONCE)),
    );
    try {
      await withRetry(() => this.#writeTogether(batch), {
        failureOf: thrown => this.#backend.failureOf(thrown),
        waitOut: ['locked', 'full'],
        windowMs: this.#windowMs,
      });
      this.#queue.splice(0, batch.length);
      for (const write of batch) this.#settle(write);
    } catch (thrown) {
      this.#rejectAll(this.#backend.failureOf(thrown).error);
    }
    this.#state = 'idle';
    this.#schedule();
  }

  async #writeTogether(batch: Queued[]): Promise<void> {
    for (;;) {
      const atFault = await this.#tryTogether(batch.filter(write => !write.refusal));
      if (!atFault) return;
    }
  }

  /** Returns the write that was refused, if any. In that case nothing of this attempt is stored. */
  async #tryTogether(batch: Queued[], appendsEach = false): Promise<Queued | null> {
    let applying: Queued | undefined;
    try {
      await this.#backend.write(async trx => {
        for (const write of batch) {
          applying = write;
          await write.apply(trx);
          if (appendsEach) await this.#append(trx, [write]);
        }
        applying = undefined;
        if (!appendsEach) await this.#append(trx, batch);
      });
      return null;
    } catch (thrown) {
      const failure = this.#backend.failureOf(thrown);
      if (failure.kind !== 'refused') throw thrown;
      // The database refused an event. Appending the events of each write separately shows which write contains the
      // event.
      if (!applying && !appendsEach) return this.#tryTogether(batch, true);
      if (!applying) throw thrown;
      applying.refusal = failure.error;
      return applying;
    }
  }

  async #append(trx: Transaction<Tables>, writes: Queued[]): Promise<void> {
    const rows = writes.flatMap(write => write.rows ?? []);
    const numbers = rows.length > 0 ? await this.#backend.append(trx, rows) : [];
    let at = 0;
    for (const write of writes) {
      write.numbers = numbers.slice(at, at + (write.rows?.length ?? 0));
      at += write.numbers.length;
    }
  }

  #settle(write: Queued): void {
    if (write.refusal) {
      write.reject(write.refusal);
      return;
    }
    if (write.events.length > 0)
      this.#tell(write.events.map((event, at) => ({ ...event, seq: write.numbers[at]! })));
    write.resolve();
  }

  #tell(events: Event[]): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(events);
      } catch (thrown) {
        process.emitWarning(thrown instanceof Error ? thrown : new Error(String(thrown)));
      }
    }
  }

  #rejectAll(error: SquadError): void {
    if (error.code === 'DATABASE_CORRUPT') this.#refuseAll ??= error;
    for (const write of this.#queue.splice(0)) write.reject(write.refusal ?? error);
  }
}

export const closed = (): SquadError =>
  new SquadError('DATABASE_FAILED', 'The database is closed: the hub is stopping.', {
    suggestions: ['Try again. A new hub starts on first use.'],
  });
