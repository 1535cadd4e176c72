import type BetterSqlite3 from 'better-sqlite3';

/**
 * Maximum number of prepared statements. Lists of ids lead to statements of many lengths, so the oldest statement is
 * dropped.
 */
const MAX_PREPARED = 200;

export function preparedOnce(handle: BetterSqlite3.Database): (sql: string) => BetterSqlite3.Statement {
  const prepared = new Map<string, BetterSqlite3.Statement>();
  return sql => {
    const known = prepared.get(sql);
    if (known) return known;
    const statement = handle.prepare(sql);
    prepared.set(sql, statement);
    if (prepared.size > MAX_PREPARED) prepared.delete(prepared.keys().next().value!);
    return statement;
  };
}
