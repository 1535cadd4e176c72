/**
 * Adapts a statement of a migration to PostgreSQL. Text gets the collation "C", which compares bytes as SQLite does;
 * with the collation of a language, a search for ids by prefix fails. Numbers of JavaScript, such as times, may have
 * fractions, so `bigint` becomes `double precision`.
 */
export const forPostgres = (statement: string): string =>
  statement
    .replaceAll(/\bbigint\b/g, 'double precision')
    .replaceAll(/\binteger\b/g, 'int8')
    .replaceAll(/\btext\b(?! collate)/g, 'text collate "C"');

export const WORKTREE_FIELDS = `worktree::json ->> 'path' as worktree_path, worktree::json ->> 'branch' as branch_name`;

export const EVENT_FIELDS = `data::json ->> 'tool' as tool_name,
  case data::json ->> 'ok' when 'true' then 1 when 'false' then 0 end as success, data::json ->> 'code' as error_code`;

const quarterOf = (row: 'new' | 'old') => `floor(${row}.created_at / 900000)::int8`;

const amountsOf = (row: 'new' | 'old') => `select ${quarterOf(row)}, (${row}.ended_at is not null)::int, 1,
  coalesce(${row}.cost_usd, 0), (${row}.cost_usd is not null)::int,
  (${row}.cost_usd is not null and coalesce(${row}.cost_is_estimated, 0) <> 0)::int,
  (${row}.started_at is not null and ${row}.cost_usd is null)::int`;

const summed = (sign: '+' | '-') =>
  ['runs', 'cost_usd', 'reported', 'estimated', 'unreported'].map(
    name => `${name} = spending.${name} ${sign} excluded.${name}`,
  );

/** Keeps the tables `run_counts` and `spending` up to date, as the triggers of SQLite do. */
export const COUNT_RUN = `create function count_run() returns trigger language plpgsql as $$
  begin
    if tg_op <> 'INSERT' then
      update run_counts set runs = runs - 1 where workspace = old.workspace and status = old.status;
      delete from run_counts where workspace = old.workspace and status = old.status and runs = 0;
      insert into spending ${amountsOf('old')}
        on conflict (quarter, is_ended) do update set ${summed('-')};
      delete from spending
        where quarter = ${quarterOf('old')} and is_ended = (old.ended_at is not null)::int and runs = 0;
    end if;
    if tg_op <> 'DELETE' then
      insert into run_counts values (new.workspace, new.status, 1)
        on conflict (workspace, status) do update set runs = run_counts.runs + 1;
      insert into spending ${amountsOf('new')}
        on conflict (quarter, is_ended) do update set ${summed('+')};
    end if;
    return null;
  end $$`;

/** Id of the hub that uses the session. Each session of a hub sets it. Null in other sessions, such as those of psql. */
const THIS_HUB = `current_setting('squad.hub', true)`;

/** SQLSTATE of a change to a row of another hub. */
export const OTHER_HUB = 'SQ001';

/** Tables in which only the hub that owns a row may change it. */
const OWNED = ['runs', 'turns', 'chats', 'reviews', 'inbox', 'intents'];

/**
 * Hubs of the database, and the owner of each row. The database itself refuses changes to rows of another hub, so a
 * hub cannot change them by mistake, and no statement of a hub has to name the owner. Rows that exist already belong to
 * the hub that applies the migration.
 */
export const OWNED_BY_HUBS = [
  // `attempt` is the number of the process that used the database last for this home.
  'create table hubs (id text not null primary key, home text not null, host text not null, attempt integer not null)',
  'drop table if exists hub_owner',
  `create function refuse_other_hub() returns trigger language plpgsql as $$
  begin
    raise exception 'a row of % belongs to another hub', tg_table_name using errcode = '${OTHER_HUB}';
  end $$`,
  ...OWNED.flatMap(table => [
    `alter table ${table} add column hub text default ${THIS_HUB}`,
    `create trigger ${table}_of_hub before update or delete on ${table} for each row
       when (old.hub <> ${THIS_HUB}) execute function refuse_other_hub()`,
  ]),
];

/** Condition for rows of this hub. */
export const ofThisHub = (table: string): string => `${table}.hub = ${THIS_HUB}`;

/** Held until the end of the transaction that applies migrations. */
export const LOCK_MIGRATIONS =
  "select pg_advisory_xact_lock(hashtextextended('squad migrations ' || current_schema(), 0))";

export const SCHEMA_OID = '(select oid from pg_namespace where nspname = current_schema())';

/** Channel of the notifications between the hubs of a schema, as an SQL expression. */
export const CHANNEL = `'squad_' || ${SCHEMA_OID}`;

/** Channel on which hubs ask each other for facts. */
export const ROLL_CALL = `${CHANNEL} || '_hubs'`;

/**
 * Requests of a hub to another one to stop a run, and notifications about them and about settings. A notification only
 * says that there is something to read; its payload is the sender. See `Notices` for the other payloads.
 */
export const NOTICES = [
  `create table stop_requests (run_id text not null primary key references runs (id) on delete cascade,
     asked_by text not null, at bigint not null)`,
  `create function notify_hubs() returns trigger language plpgsql as $$
  begin
    perform pg_notify(${CHANNEL}, coalesce(${THIS_HUB}, ''));
    return null;
  end $$`,
  `create trigger stop_requests_notice after insert on stop_requests for each row execute function notify_hubs()`,
  `create trigger settings_notice after insert or update or delete on settings
     for each row execute function notify_hubs()`,
];

/** Time of the server in milliseconds. All hubs compare their times with this clock. */
export const SERVER_TIME = '(extract(epoch from clock_timestamp()) * 1000)::double precision';

/**
 * Heartbeats of hubs. `lease_ms` is how long after a heartbeat the agents of the hub may still run. It is null while
 * the agents do not depend on heartbeats, because no other hub can take over.
 */
export const HUB_LEASES = [
  'alter table hubs add column version text',
  'alter table hubs add column beat_at bigint',
  'alter table hubs add column lease_ms bigint',
  'alter table hubs add column clock_ahead_ms bigint',
];

/** Key of the advisory lock that a running hub holds. `hub` is an SQL expression of its id. */
export const hubLock = (hub: string): string =>
  `hashtextextended('squad hub ' || ${SCHEMA_OID} || ' ' || ${hub}, 0)`;

/**
 * Requests of hubs to each other and the answers, which are removed when they are read, and notifications about new
 * events. The tables are unlogged: after a crash of the server they are empty, and no hub waits for them any more.
 */
export const CALLS = [
  `create function hub_is_running(hub varchar) returns boolean language sql stable as $$
     select exists (select 1 from pg_locks l where l.locktype = 'advisory' and l.granted and l.objsubid = 1
       and l.database = (select oid from pg_database where datname = current_database())
       and (l.classid::int8 << 32 | l.objid::int8) = ${hubLock('hub')}) $$`,
  // `seen_at`: when the other hub last said that it works on the request. Null until it has taken the request.
  `create unlogged table hub_calls (id text not null primary key, from_hub text not null default ${THIS_HUB},
     to_hub text not null, request text not null, at timestamptz not null default clock_timestamp(),
     seen_at timestamptz)`,
  `create unlogged table hub_answers (place int8 generated always as identity primary key,
     call_id text not null references hub_calls (id) on delete cascade, answer text not null)`,
  'create index hub_answers_of_call on hub_answers (call_id)',
  // The final answers of runs, so that they can be read when the hub with their files is not running.
  'create table answers (run_id text not null primary key references runs (id) on delete cascade, answer text not null)',
  `create function notify_events() returns trigger language plpgsql as $$
  begin
    perform pg_notify(${CHANNEL}, 'events ' || coalesce(${THIS_HUB}, ''));
    return null;
  end $$`,
  `create trigger events_notice after insert on events for each statement execute function notify_events()`,
];

/**
 * A chat that no run holds belongs to the hub that uses it next. Pins of tools are read again when another hub has changed
 * them. Costs of running turns, which `runs` gets at their end, count for the daily budget of all hubs.
 */
export const CLAIMS = [
  'drop trigger chats_of_hub on chats',
  `create function claim_chat() returns trigger language plpgsql as $$
  begin
    if old.hub = ${THIS_HUB} or ${THIS_HUB} is null then
      return new;
    end if;
    if old.run_id is not null then
      raise exception 'a row of chats belongs to another hub' using errcode = '${OTHER_HUB}';
    end if;
    new.hub := ${THIS_HUB};
    return new;
  end $$`,
  'create trigger chats_claimed before update on chats for each row execute function claim_chat()',
  `create trigger chats_of_hub before delete on chats for each row
     when (old.hub <> ${THIS_HUB} and old.run_id is not null) execute function refuse_other_hub()`,
  ...['tool_pins', 'listed_servers'].map(
    table => `create trigger ${table}_notice after insert or update or delete on ${table}
     for each statement execute function notify_hubs()`,
  ),
  'create table running_costs (hub text not null primary key, cost_usd bigint not null, at bigint not null)',
];
