import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import BetterSqlite3 from 'better-sqlite3';
import { preparedOnce } from './prepared.ts';

export interface ThreadQuery {
  id: number;
  sql: string;
  parameters: readonly unknown[];
}

export type ThreadRows = { id: number } & ({ rows: unknown[] } | { error: string; code: string });

/** If cores are scarce, the hub's own thread and starting agents have priority. */
const NICENESS = 5;

/** A small cache: reports read each page once, and the operating system caches the file. */
const CACHE_KIB = 4 * 1024;

// Linux has a priority for each thread; elsewhere it would be that of the whole hub.
if (process.platform === 'linux') setPriority(Math.max(getPriority(), NICENESS));

/** The thread in which reports read the database, with a separate connection. See `ReportThread`. */
const handle = new BetterSqlite3(workerData as string, { readonly: true, fileMustExist: true });
handle.pragma(`cache_size = -${CACHE_KIB}`);
const prepare = preparedOnce(handle);

parentPort?.on('message', ({ id, sql, parameters }: ThreadQuery) => {
  let reply: ThreadRows;
  try {
    reply = { id, rows: prepare(sql).all(parameters) };
  } catch (thrown) {
    if (!(thrown instanceof BetterSqlite3.SqliteError)) throw thrown;
    reply = { id, error: thrown.message, code: thrown.code };
  }
  parentPort?.postMessage(reply);
});
