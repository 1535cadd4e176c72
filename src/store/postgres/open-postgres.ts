import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import {
  HandleEmptyInListsPlugin,
  Kysely,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  replaceWithNoncontingentExpression,
  sql,
  type Transaction,
} from 'kysely';
import type { Client, Pool, PoolClient } from 'pg';
import type { Notice, OtherHub } from '../../core/ports/store.ts';
import type { HubFacts } from '../../schema/machines/cluster.ts';
import { type Backend, withRetry } from '../backend.ts';
import type { NewEventRow, Tables } from '../tables.ts';
import { admitRuns } from './admission.ts';
import { broken, isConnectionError, postgresFailure, readOnly, sqlState } from './failure.ts';
import { hubLeases } from './hub-leases.ts';
import { type HomeIdentity, HubLock } from './hub-lock.ts';
import { listHubs, reportHubs } from './hubs.ts';
import { hubCallRows, hubsOf } from './other-hubs.ts';
import { requireRights } from './rights.ts';
import { type Answer, RollCall } from './roll-call.ts';
import { CHANNEL, ROLL_CALL, SCHEMA_OID } from './schema.ts';
import { fromStored, toStored } from './text.ts';
import { nameOfDatabase, urlForDriver } from './url.ts';

/** The oldest major version that still gets fixes. */
const MIN_VERSION = 14;
const MAX_READERS = 4;
const CONNECT_TIMEOUT_MS = 10_000;
/** Timeout of a query. Without it, a query on a dead connection would wait for 15 minutes. */
const QUERY_TIMEOUT_MS = 60_000;
const IDLE_TIMEOUT_MS = 60_000;
/** How long a write tries to find out whether its interrupted commit succeeded. */
const COMMIT_CHECK_MS = 30_000;

/**
 * Settings of each session. A hub that hangs in a transaction must not block other hubs. The server must also notice
 * soon that a hub's machine is gone, because the hub's session holds the lock on the database.
 */
const SETTINGS = {
  idle_in_transaction_session_timeout: '5s',
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '25s',
  standard_conforming_strings: 'on',
  client_encoding: 'UTF8',
};

/** Advisory lock of a transaction that appends events: "SQAE" in ASCII, and the schema. */
const EVENT_LOCK = `((${0x53_51_41_45}::bigint << 32) | ${SCHEMA_OID}::bigint)`;

/** PostgreSQL's type ids. The driver returns values of INT8 and NUMERIC as text. */
const [INT8, TEXT, NUMERIC] = [20, 25, 1700];

/**
 * Opens the database and takes the lock of this hub. All writes use the session that holds the lock. PostgreSQL releases
 * the lock when the session is lost, so a hub that hangs cannot write after the next hub of its home has started. Creates
 * no tables; see `migrate`.
 */
export async function openPostgres(url: string, home: HomeIdentity): Promise<Backend> {
  const { default: pg } = await import('pg');
  const name = nameOfDatabase(url);
  const config = {
    connectionString: urlForDriver(url),
    application_name: `squad ${home.id} ${hostname().slice(0, 24)} ${process.pid}`,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: {
      getTypeParser: (type: number, format?: 'text' | 'binary') => {
        if (type === TEXT) return fromStored;
        return type === INT8 || type === NUMERIC ? Number : pg.types.getTypeParser(type, format);
      },
    },
  };
  const settings = { ...SETTINGS, 'squad.hub': home.id };
  const lock = new HubLock(name, home);
  const notices = new Notices(() => new pg.Client(config), home.id);
  const readers = new pg.Pool({ ...config, max: MAX_READERS, idleTimeoutMillis: IDLE_TIMEOUT_MS });
  const writer = new pg.Pool({ ...config, max: 1, idleTimeoutMillis: 0 });
  const reads = database(
    new Sessions(readers, async client => {
      await useSettings(client, { ...settings, default_transaction_read_only: 'on' });
    }),
  );
  const writes = database(
    new Sessions(writer, async client => {
      await useSettings(client, settings);
      await checkServer(client, name);
      await lock.take(client);
    }),
  );
  try {
    await sql`select 1`.execute(writes);
  } catch (thrown) {
    await writer.end();
    throw thrown;
  }
  return backendOn({ reads, writes, lock, notices, name, home });
}

interface Parts {
  reads: Kysely<Tables>;
  writes: Kysely<Tables>;
  lock: HubLock;
  notices: Notices;
  name: string;
  home: HomeIdentity;
}

function backendOn({ reads, writes, lock, notices, name, home }: Parts): Backend {
  const failureOf = (thrown: unknown) => postgresFailure(thrown, name);
  /** Number of the last event of the current transaction. Null if the transaction has no events. */
  let appended: number | null = null;
  const whenConnected = <T>(work: () => Promise<T>): Promise<T> =>
    withRetry(work, { failureOf, waitOut: ['locked'], windowMs: COMMIT_CHECK_MS });

  async function append(trx: Transaction<Tables>, events: NewEventRow[]): Promise<number[]> {
    const numbers = await appendEvents(trx, events);
    appended = numbers.at(-1) ?? appended;
    return numbers;
  }

  async function write<T>(work: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
    let done: { result: T } | null = null;
    appended = null;
    try {
      return await writes.transaction().execute(async trx => {
        done = { result: await work(trx) };
        return done.result;
      });
    } catch (thrown) {
      // The connection was lost during the commit, and only the database knows whether the commit succeeded. A
      // transaction without events is not checked, because the caller can repeat it.
      const finished = done as { result: T } | null;
      if (finished && appended !== null && isLost(thrown) && (await isCommitted(appended)))
        return finished.result;
      throw thrown;
    }
  }

  /**
   * Checks whether the transaction that appended this event was committed. The query runs on the session that holds the
   * hub's lock. When that session has got the lock, the lost session has ended and its commit has succeeded or failed.
   */
  async function isCommitted(seq: number): Promise<boolean> {
    const query = writes.selectFrom('events').select('seq').where('seq', '=', seq);
    return (await whenConnected(() => query.executeTakeFirst())) !== undefined;
  }

  return {
    db: reads,
    reports: () => reads,
    write,
    append,
    hub: home.id,
    register: async version => {
      await requireRights(writes, name);
      await lock.register(writes, version);
    },
    leases: hubLeases({ reads, writes, lock, hub: home.id, whenConnected }),
    onNotice: listener => notices.on(listener),
    listHubs: () => listHubs(reads),
    reportHubs: () => reportHubs(reads, { name, own: home.id, ask: expected => notices.ask(expected) }),
    answerHubs: facts => notices.answerWith(facts),
    otherOwner: async id => {
      const { rows } =
        await sql<OtherHub>`select hubs.id, hubs.home, hubs.host, hub_is_running(hubs.id) as "isRunning"
        from runs join hubs on hubs.id = runs.hub where runs.id = ${id} and runs.hub <> ${home.id}`.execute(
          reads,
        );
      return rows[0] ?? null;
    },
    hubsOf: ids => hubsOf(reads, ids),
    calls: hubCallRows(writes, home.id, failureOf),
    admit: (trx, admission) => admitRuns(trx, home.id, admission),
    lastSequence: async () => {
      const { rows } = await sql<{ last: number }>`
        select case when is_called then last_value else 0 end as last from events_seq_seq`.execute(writes);
      return rows[0]!.last;
    },
    skipTo: async (trx, seq) => {
      await sql`select setval('events_seq_seq', greatest(${seq}::bigint, last_value)) from events_seq_seq
        where ${seq}::bigint > 0`.execute(trx);
    },
    // PostgreSQL checks its own files, so there is nothing to check here.
    fault: () => null,
    failureOf,
    close: async () => {
      await Promise.all([notices.close(), lock.release(writes)]);
      await Promise.all([reads.destroy(), writes.destroy()]);
    },
  };
}

/** Appends events so that they become visible in the order of their numbers, even if several sessions append. */
export async function appendEvents(trx: Transaction<Tables>, events: NewEventRow[]): Promise<number[]> {
  if (events.length === 0) return [];
  const column = <Name extends keyof NewEventRow>(name: Name) => events.map(event => event[name]);
  // The statement takes the lock as late as possible, and the lock is held until the commit is visible. Otherwise a
  // client that reads events after a number could miss events with a lower number that are committed later.
  const { rows } = await sql<{ seq: number }>`
    with numbering as materialized (select pg_advisory_xact_lock(${sql.raw(EVENT_LOCK)}))
    insert into events (at, run_id, squad_id, type, data)
    select event.at, event.run_id, event.squad_id, event.type, event.data
    from numbering, unnest(${column('at')}::double precision[], ${column('run_id')}::text[], ${column('squad_id')}::text[],
      ${column('type')}::text[], ${column('data')}::text[]) with ordinality as event (at, run_id, squad_id, type, data, place)
    order by event.place
    returning seq`.execute(trx);
  return rows.map(({ seq }) => seq).sort((a, b) => a - b);
}

const isLost = (thrown: unknown): boolean =>
  isConnectionError(thrown) || /^(57P|08)/.test(sqlState(thrown) ?? '');

const database = (pool: PostgresPool): Kysely<Tables> =>
  new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    // The plugin allows empty lists in `in (…)`, as SQLite does.
    plugins: [new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })],
  });

/** Pool of connections. Each connection is prepared before its first use. */
class Sessions implements PostgresPool {
  readonly options = {};
  readonly #pool: Pool;
  readonly #prepare: (client: PoolClient) => Promise<void>;
  readonly #prepared = new WeakMap<PoolClient, Session>();

  constructor(pool: Pool, prepare: (client: PoolClient) => Promise<void>) {
    this.#pool = pool;
    this.#prepare = prepare;
    // An `error` event without a listener would end the process. The next query on the lost connection reports the
    // error.
    pool.on('error', () => {});
    pool.on('connect', client => client.on('error', () => {}));
  }

  async connect(): Promise<Session> {
    const client = await this.#pool.connect();
    const known = this.#prepared.get(client);
    if (known) return known;
    try {
      await this.#prepare(client);
    } catch (thrown) {
      client.release(true);
      throw thrown;
    }
    const session = new Session(client);
    this.#prepared.set(client, session);
    return session;
  }

  end(): Promise<void> {
    return this.#pool.end();
  }
}

class Session implements PostgresPoolClient {
  readonly #client: PoolClient;
  #isBroken = false;

  constructor(client: PoolClient) {
    this.#client = client;
  }

  // Kysely's `query` also has a form for cursors, which Squad does not use.
  query = (async (text: string, parameters: readonly unknown[]) => {
    // A rollback on a broken connection would wait for an answer that never comes.
    if (this.#isBroken) throw new Error('Connection terminated');
    try {
      return await this.#client.query(text, parameters.map(toStored));
    } catch (thrown) {
      this.#isBroken = isConnectionError(thrown);
      throw thrown;
    }
  }) as unknown as PostgresPoolClient['query'];

  release(destroy = false): void {
    this.#client.release(destroy || this.#isBroken);
  }
}

async function useSettings(client: PoolClient, settings: Record<string, string>): Promise<void> {
  const each = Object.entries(settings).map(([name, value]) => `set_config('${name}', '${value}', false)`);
  await client.query(`select ${each.join(', ')}`);
}

/** Checks version, encoding, schema and that the database can be written to. */
export async function checkServer(client: PoolClient, name: string): Promise<void> {
  const { rows } = await client.query<{
    version: number;
    encoding: string;
    read_only: string;
    schema: string | null;
  }>(
    `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
       current_setting('transaction_read_only') as read_only, current_schema() as schema`,
  );
  const { version, encoding, read_only, schema } = rows[0]!;
  checkVersion(version, name);
  if (encoding !== 'UTF8')
    throw broken(
      name,
      `its encoding is ${encoding}`,
      undefined,
      "Create it with UTF-8: `create database NAME encoding 'UTF8' template template0`.",
    ).error;
  if (read_only === 'on') throw readOnly(name).error;
  if (schema === null)
    throw broken(
      name,
      'no schema of its search_path exists',
      undefined,
      'Create the schema that the search_path of SQUAD_DATABASE_URL names.',
    ).error;
}

/** Checks the server's version. `version` is the number in `server_version_num`, such as 150004. */
export function checkVersion(version: number, name: string): void {
  const major = Math.floor(version / 10_000);
  if (major >= MIN_VERSION) return;
  throw broken(
    name,
    `its server is PostgreSQL ${major}, and Squad needs ${MIN_VERSION} or later`,
    undefined,
    'Upgrade the server.',
  ).error;
}

const LISTEN_RETRY_MS = 1_000;

const NOTICE_KINDS: readonly Notice[] = ['changes', 'calls', 'events'];

/**
 * Notifications of other hubs, on a session of their own that is opened with the first listener. Notifications are lost
 * with the session, so listeners are also called after each connect.
 */
class Notices {
  readonly #connect: () => Client;
  readonly #hub: string;
  readonly #listeners = new Set<(notice: Notice) => void>();
  readonly #rollCall: RollCall;
  readonly #closing = new AbortController();
  #client: Client | null = null;
  #listening: Promise<void> | null = null;

  constructor(connect: () => Client, hub: string) {
    this.#connect = connect;
    this.#hub = hub;
    this.#rollCall = new RollCall(hub);
  }

  /** Asks all hubs for facts. Needs a listener, because the answers come on its session. */
  ask(expected: readonly string[]): Promise<Answer[]> {
    return this.#rollCall.ask(expected, payload => this.#send(payload));
  }

  answerWith(facts: () => HubFacts): void {
    this.#rollCall.answerWith(facts);
  }

  async #send(payload: string): Promise<void> {
    if (!this.#client) throw new Error('Connection terminated');
    await this.#client.query(`select pg_notify(${ROLL_CALL}, $1)`, [payload]);
  }

  #hear(payload: string): void {
    const reply = this.#rollCall.hear(payload);
    // The asking hub waits no longer than a few seconds.
    if (reply !== null) void this.#send(reply).catch(() => {});
  }

  on(listener: (notice: Notice) => void): () => void {
    const entry = (notice: Notice) => listener(notice);
    this.#listeners.add(entry);
    this.#listening ??= this.#keepListening();
    return () => this.#listeners.delete(entry);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#client?.end().catch(() => {}); // a lost connection has ended already
    await this.#listening;
  }

  async #keepListening(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#listen().catch(() => {}); // the database is away, which the next write reports
      await pause(LISTEN_RETRY_MS, null, { signal, ref: false }).catch(() => {}); // closing
    }
  }

  /** Resolves when the connection is lost or closed. */
  async #listen(): Promise<void> {
    const client = this.#connect();
    this.#client = client;
    const ended = new Promise<void>(resolve => client.once('end', resolve));
    client.on('error', () => {}); // `end` follows
    client.on('notification', ({ channel, payload = '' }) => {
      if (channel.endsWith('_hubs')) return this.#hear(payload);
      const [, kind, hub] = /^(?:(calls|events) )?(.*)$/s.exec(payload)!;
      // Requests name the hub that they are for, all other notifications the hub that sent them.
      if ((hub === this.#hub) === (kind === 'calls')) this.#tell((kind as Notice | undefined) ?? 'changes');
    });
    try {
      await client.connect();
      const { rows } = await client.query<{ channel: string; calls: string }>(
        `select ${CHANNEL} as channel, ${ROLL_CALL} as calls`,
      );
      await client.query(`listen ${rows[0]!.channel}; listen ${rows[0]!.calls}`);
      for (const notice of NOTICE_KINDS) this.#tell(notice);
      await ended;
    } finally {
      await client.end().catch(() => {}); // it has ended
    }
  }

  #tell(notice: Notice): void {
    for (const listener of [...this.#listeners]) listener(notice);
  }
}
