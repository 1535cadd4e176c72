import { Kysely, PostgresDialect, sql } from 'kysely';
import { SquadError } from '../../schema/error.ts';
import type { DatabaseFacts } from '../../schema/machines/cluster.ts';
import { missingMigrations } from '../migrations.ts';
import type { Tables } from '../tables.ts';
import { postgresFailure } from './failure.ts';
import { checkServer } from './open-postgres.ts';
import { grantsOn, hasTable, requireOwner, requireRights } from './rights.ts';
import { isLocal, nameOfDatabase, urlForDriver } from './url.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const QUERY_TIMEOUT_MS = 60_000;

/** A connection that takes no lock and changes nothing by itself, so it can be used beside hubs. */
export async function administer<T>(url: string, work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
  const { default: pg } = await import('pg');
  const name = nameOfDatabase(url);
  const pool = new pg.Pool({
    connectionString: urlForDriver(url),
    application_name: 'squad administration',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    max: 1,
  });
  pool.on('error', () => {}); // the next query on the lost connection reports the error
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  try {
    const client = await pool.connect();
    await checkServer(client, name).finally(() => client.release());
    return await work(db);
  } catch (thrown) {
    throw postgresFailure(thrown, name).error;
  } finally {
    await db.destroy();
  }
}

/** Checks that a hub can use the database, and changes nothing. */
export const inspectDatabase = (url: string, version: string): Promise<DatabaseFacts> =>
  administer(url, async db => {
    const name = nameOfDatabase(url);
    const { rows } = await sql<{ user: string; server: string; tls: string | null }>`
      select current_user as user, current_setting('server_version') as server,
        (select version from pg_stat_ssl where pid = pg_backend_pid() and ssl) as tls`.execute(db);
    const { user, server, tls } = rows[0]!;
    refuseUnencrypted(url, name, tls !== null);
    const missing = (await missingMigrations(db, name, version)).map(migration => migration.name);
    if (missing.length > 0) await requireOwner(db, name, missing);
    else await requireRights(db, name);
    return {
      ...{ database: name, user, server, missing },
      tls: tls === null ? null : { version: tls, isVerified: isVerified(url) },
      hubs: (await hasTable(db, 'hubs')) ? await countHubs(db) : null,
    };
  });

async function countHubs(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{ hubs: number }>`select count(*)::int as hubs from hubs`.execute(db);
  return rows[0]!.hubs;
}

const isVerified = (url: string): boolean => {
  const { searchParams } = new URL(url);
  return searchParams.get('sslmode') !== 'no-verify' && !searchParams.has('uselibpqcompat');
};

/** A password and all data would be readable on the network. */
function refuseUnencrypted(url: string, name: string, isEncrypted: boolean): void {
  if (isEncrypted || isLocal(url) || new URL(url).searchParams.get('sslmode') === 'disable') return;
  throw new SquadError('CONFIG_INVALID', `The connection to ${name} is not encrypted.`, {
    suggestions: [
      'Add sslmode=verify-full to the URL, and sslrootcert=/path/ca.crt for a certificate authority of your own.',
      'For a network that you trust: sslmode=disable.',
    ],
  });
}

/** Statements that allow a user of the database to run hubs. With `apply` they are carried out, all or none. */
export const grant = (url: string, user: string, apply: boolean): Promise<string[]> =>
  administer(url, async db => {
    if (!(await hasTable(db, 'hubs')))
      throw new SquadError(
        'DATABASE_FAILED',
        `The database ${nameOfDatabase(url)} has no tables of Squad yet.`,
        {
          suggestions: ['Create them with `squad db migrate`, then try again.'],
        },
      );
    const statements = await grantsOn(db, user);
    if (apply)
      await db.transaction().execute(async trx => {
        for (const statement of statements) await sql.raw(statement).execute(trx);
      });
    return statements;
  });

/** Number of runs of a hub that have not ended. */
export const countLiveRuns = (url: string, hub: string): Promise<number> =>
  administer(url, async db => {
    const { rows } = await sql<{ runs: number }>`
      select count(*)::int as runs from runs where hub = ${hub} and ended_at is null`.execute(db);
    return rows[0]!.runs;
  });

/** Creates a schema, or removes it with everything in it. */
export const changeSchema = (url: string, schema: string, change: 'create' | 'drop'): Promise<void> =>
  administer(url, async db => {
    const statement =
      change === 'create' ? sql`create schema ${sql.id(schema)}` : sql`drop schema ${sql.id(schema)} cascade`;
    await statement.execute(db);
  });
