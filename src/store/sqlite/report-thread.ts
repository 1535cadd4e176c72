import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import BetterSqlite3 from 'better-sqlite3';
import { type CompiledQuery, type DatabaseConnection, type Driver, DummyDriver } from 'kysely';
import type { ThreadQuery, ThreadRows } from './query-thread.ts';

const IDLE_MS = 10_000;
/** Heap limit of the thread: many times the size of one answer. */
const MAX_HEAP_MB = 128;

interface Waiting {
  resolve(rows: unknown[]): void;
  reject(error: Error): void;
}

/**
 * Runs queries in a thread with a separate connection, so that nothing else waits for them. The thread starts when it
 * is needed and ends when idle.
 */
export class ReportThread {
  readonly #file: string;
  readonly #waiting = new Map<number, Waiting>();
  #thread: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;
  #lastId = 0;

  constructor(file: string) {
    this.#file = file;
  }

  all(sql: string, parameters: readonly unknown[]): Promise<unknown[]> {
    return new Promise((resolve, reject) => {
      const query: ThreadQuery = { id: ++this.#lastId, sql, parameters };
      this.#waiting.set(query.id, { resolve, reject });
      clearTimeout(this.#idle);
      this.#thread ??= this.#start();
      this.#thread.ref();
      this.#thread.postMessage(query);
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const thread = this.#thread;
    this.#thread = null;
    await thread?.terminate();
  }

  #start(): Worker {
    // When run from source, the file is next to this one. In a build, all bundles are in one folder.
    const script = import.meta.url
      ? new URL('./query-thread.ts', import.meta.url)
      : join(__dirname, 'query-thread.cjs');
    const thread = new Worker(script, {
      env: {},
      execArgv: [],
      workerData: this.#file,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    thread.on('message', (reply: ThreadRows) => {
      const waiting = this.#waiting.get(reply.id);
      this.#waiting.delete(reply.id);
      if ('rows' in reply) waiting?.resolve(reply.rows);
      else waiting?.reject(new BetterSqlite3.SqliteError(reply.error, reply.code));
      if (this.#waiting.size === 0) this.#rest();
    });
    // The queries of a broken thread fail; the next query gets a new thread.
    const broken = (error: Error) => {
      if (this.#thread === thread) this.#thread = null;
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    };
    thread.on('error', broken);
    thread.on('exit', () => broken(new Error('The thread that reads the database ended')));
    return thread;
  }

  #rest(): void {
    this.#thread?.unref();
    this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
  }
}

/** No transaction around several queries: the thread only reads, and one statement reads a consistent state. */
export class ThreadDriver extends DummyDriver implements Driver {
  readonly #thread: ReportThread;

  constructor(thread: ReportThread) {
    super();
    this.#thread = thread;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    return {
      executeQuery: async <R>({ sql, parameters }: CompiledQuery) => ({
        rows: (await this.#thread.all(sql, parameters)) as R[],
      }),
      streamQuery: () => {
        throw new Error('Reports are read in pages');
      },
    };
  }
}
