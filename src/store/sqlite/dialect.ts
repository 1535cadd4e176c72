import type BetterSqlite3 from 'better-sqlite3';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  SqliteAdapter,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';

/** Lists of ids give statements of many lengths; beyond this the oldest is prepared again when it comes back. */
const MOST_PREPARED = 200;

export const sqliteDialect = (handle: BetterSqlite3.Database): Dialect => ({
  createDriver: () => new ImmediateDriver(handle),
  createQueryCompiler: () => new SqliteQueryCompiler(),
  createAdapter: () => new SqliteAdapter(),
  createIntrospector: db => new SqliteIntrospector(db),
});

class ImmediateDriver extends SqliteDriver {
  readonly #handle: BetterSqlite3.Database;

  constructor(handle: BetterSqlite3.Database) {
    super({ database: { prepare: preparedOnce(handle), close: () => handle.close() } });
    this.#handle = handle;
  }

  // A transaction that begins as a reader and then writes fails at once if another process wrote meanwhile.
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }

  // SQLite has already rolled back by itself after a full disk and some other failures.
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#handle.inTransaction) await super.rollbackTransaction(connection);
  }
}

function preparedOnce(handle: BetterSqlite3.Database): (sql: string) => BetterSqlite3.Statement {
  const prepared = new Map<string, BetterSqlite3.Statement>();
  return sql => {
    const known = prepared.get(sql);
    if (known) return known;
    const statement = handle.prepare(sql);
    prepared.set(sql, statement);
    if (prepared.size > MOST_PREPARED) prepared.delete(prepared.keys().next().value!);
    return statement;
  };
}
