import type BetterSqlite3 from 'better-sqlite3';
import type { NewEventRow } from '../tables.ts';

/** The one statement that runs for every event there is, so it is written by hand and prepared once. */
export function appender(handle: BetterSqlite3.Database): (events: NewEventRow[]) => number[] {
  let insert: BetterSqlite3.Statement<NewEventRow> | undefined;
  return events => {
    insert ??= handle.prepare(
      'insert into events (at, run_id, squad_id, type, data) values (@at, @run_id, @squad_id, @type, @data)',
    );
    const numbers: number[] = [];
    for (const event of events) numbers.push(Number(insert.run(event).lastInsertRowid));
    return numbers;
  };
}
