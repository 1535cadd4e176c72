import { hostname } from 'node:os';
import { type Kysely, sql } from 'kysely';
import type { PoolClient } from 'pg';
import { SquadError } from '../../schema/error.ts';
import { LIVE } from '../queries.ts';
import type { Tables } from '../tables.ts';
import { hubLock, SERVER_TIME } from './schema.ts';

/** Identifies the home of a hub. Each home is one hub of the database. */
export interface HomeIdentity {
  id: string;
  /** Path of the home, for messages. */
  home: string;
}

/** Condition for the rows of pg_locks of other sessions that hold an advisory lock. */
export const holdsLock = (row: string, key: string): string =>
  `${row}.locktype = 'advisory' and ${row}.granted and ${row}.objsubid = 1 and ${row}.pid <> pg_backend_pid()
   and (${row}.classid::bigint << 32 | ${row}.objid::bigint) = ${key}
   and ${row}.database = (select oid from pg_database where datname = current_database())`;

/** This process may not write any more, because another one has its place. */
export class Superseded extends SquadError {}

/** Lock of a hub. It ensures that one process at a time writes for a home. */
export class HubLock {
  readonly #name: string;
  readonly #home: HomeIdentity;
  /** Number of this process among those that used the database for this home. Null before `register`. */
  #attempt: number | null = null;

  constructor(name: string, home: HomeIdentity) {
    this.#name = name;
    this.#home = home;
  }

  async take(client: PoolClient): Promise<void> {
    const { rows } = await client.query<{ taken: boolean }>(
      `select pg_try_advisory_lock(${hubLock('$1::text')}) as taken`,
      [this.#home.id],
    );
    if (this.#attempt !== null) await this.#refuseSuperseded(client);
    if (!rows[0]!.taken) throw await this.#inUse(client);
  }

  /** Records that this process uses the database for its home, so that an earlier process cannot any more. */
  async register(writes: Kysely<Tables>, version: string): Promise<void> {
    const { id, home } = this.#home;
    const { rows } = await sql<{ attempt: number }>`
      insert into hubs (id, home, host, attempt, version) values (${id}, ${home}, ${hostname()}, 1, ${version})
      on conflict (id) do update set home = excluded.home, host = excluded.host, version = excluded.version,
        attempt = hubs.attempt + 1,
        -- The first heartbeat follows. Until then nobody takes over.
        beat_at = case when hubs.beat_at is null then null else ${sql.raw(SERVER_TIME)} end
      returning attempt`.execute(writes);
    this.#attempt = rows[0]!.attempt;
  }

  get attempt(): number | null {
    return this.#attempt;
  }

  /**
   * Throws if a later process has used the database for this home, or another hub has taken over its runs, for example
   * while this one was suspended.
   */
  async #refuseSuperseded(client: PoolClient): Promise<void> {
    const { rows } = await client.query<{ attempt: number }>('select attempt from hubs where id = $1', [
      this.#home.id,
    ]);
    if (rows[0]?.attempt === this.#attempt) return;
    throw new Superseded(
      'DATABASE_FAILED',
      `A later hub of ${this.#home.home}, or a hub that took over its runs, has used the database ${this.#name}.`,
      { suggestions: ['Stop this hub with `squad hub stop`. The next command starts a new one.'] },
    );
  }

  /**
   * Releases the lock before the connection is closed, so that the next hub does not have to wait until the server
   * notices the closed connection.
   */
  async release(writes: Kysely<Tables>): Promise<void> {
    // Without runs there is nothing to take over. Otherwise other hubs wait for the end of the lease.
    await sql`update hubs set beat_at = null where id = ${this.#home.id} and attempt = ${this.#attempt}
        and not exists (select 1 from runs where hub = hubs.id and status = any(${LIVE}))`
      .execute(writes)
      .catch(() => {}); // the next hub of the home finds the heartbeat of this one
    await sql`select pg_advisory_unlock(${sql.raw(hubLock(`current_setting('squad.hub')`))})`
      .execute(writes)
      .catch(() => {
        // The server has released the lock, because the connection is lost.
      });
  }

  /**
   * A home has only one hub, so another session with its lock is an old one. It is terminated, and the next attempt finds
   * the lock free.
   */
  async #inUse(client: PoolClient): Promise<SquadError> {
    const { rows } = await client.query<{ pid: number }>(
      `select l.pid from pg_locks l where ${holdsLock('l', hubLock('$1::text'))}`,
      [this.#home.id],
    );
    const pid = rows[0]?.pid;
    if (pid !== undefined) await client.query('select pg_terminate_backend($1)', [pid]).catch(() => {});
    return new SquadError(
      'DATABASE_LOCKED',
      `An old session of this hub (${pid ?? 'ended'}) still uses the database ${this.#name}.`,
      {
        suggestions: [
          'Try again. If this error comes back, end the session with `select pg_terminate_backend(PID)`.',
        ],
      },
    );
  }
}
