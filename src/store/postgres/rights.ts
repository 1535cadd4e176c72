import { type Kysely, type RawBuilder, sql } from 'kysely';
import { SquadError } from '../../schema/error.ts';
import type { Tables } from '../tables.ts';

type Db = Kysely<Tables>;

const ALL = 'select, insert, update, delete';

/**
 * What a hub does with each table. Triggers run with the rights of the hub, so their tables count. Deletions by a
 * foreign key need no right.
 */
const OF_A_HUB: Record<keyof Tables | 'hubs' | 'hub_calls' | 'hub_answers', string> = {
  ...{ squads: ALL, runs: ALL, turns: ALL, chats: ALL, reviews: ALL, review_limits: ALL, intents: ALL },
  ...{ inbox: ALL, messages: ALL, conversations: ALL, sent_lines: ALL, settings: ALL },
  ...{ hub_calls: ALL, answers: ALL },
  hub_answers: 'select, insert, delete',
  ...{ listed_servers: ALL, tool_pins: ALL, run_counts: ALL, spending: ALL },
  running_costs: 'select, insert, update',
  // Events never change.
  events: 'select, insert, delete',
  stop_requests: 'select, insert, update',
  hubs: 'select, insert, update',
  migrations: 'select',
};

/** Numbers of events. The hub sets the number after it has restored runs that an old backup does not have. */
const SEQUENCE = 'events_seq_seq';

interface Place {
  /** The schema, quoted. */
  schema: string;
  /** The database, quoted. */
  database: string;
}

async function placeOf(db: Db): Promise<Place> {
  const { rows } = await sql<Place>`
    select quote_ident(current_schema()) as schema, quote_ident(current_database()) as database`.execute(db);
  return rows[0]!;
}

/** Statements that allow a database user to run hubs, and nothing else. `role` is quoted. */
function grantsFor(role: string, { schema, database }: Place): string[] {
  const tables = Object.keys(OF_A_HUB).map(table => `${schema}.${table}`);
  return [
    `grant connect on database ${database} to ${role}`,
    `grant usage on schema ${schema} to ${role}`,
    // PostgreSQL 14 lets everybody create tables in the schema public.
    `revoke create on schema ${schema} from public`,
    // Rights that an earlier version needed are taken back.
    `revoke all on ${tables.join(', ')} from ${role}`,
    ...Object.entries(OF_A_HUB).map(([table, rights]) => `grant ${rights} on ${schema}.${table} to ${role}`),
    `grant usage, select, update on sequence ${schema}.${SEQUENCE} to ${role}`,
  ];
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** The statements that allow this user to run hubs on the database. */
export const grantsOn = async (db: Db, user: string): Promise<string[]> =>
  grantsFor(quoted(user), await placeOf(db));

/** Gives users that may run hubs the rights on new tables. Call this after migrations. */
export async function grantAgain(db: Db): Promise<void> {
  const { rows } = await sql<{ role: string }>`
    select distinct quote_ident(pg_get_userbyid(entry.grantee)) as role
    from pg_class, aclexplode(pg_class.relacl) as entry
    where pg_class.oid = to_regclass(quote_ident(current_schema()) || '.runs')
      and entry.privilege_type = 'INSERT' and entry.grantee not in (0, pg_class.relowner)`.execute(db);
  const place = await placeOf(db);
  for (const { role } of rows)
    for (const statement of grantsFor(role, place)) await sql.raw(statement).execute(db);
}

/** Throws PERMISSION_DENIED if the user of the session lacks rights that a hub needs. */
export async function requireRights(db: Db, name: string): Promise<void> {
  const needed = Object.entries(OF_A_HUB).flatMap(([table, rights]) =>
    rights.split(', ').map(right => ({ table, right })),
  );
  const { rows } = await sql<{ user: string; missing: string | null }>`
    select current_user as user, string_agg(needed."right" || ' on ' || needed."table", ', ') as missing
    from unnest(${needed.map(({ table }) => table)}::text[], ${needed.map(({ right }) => right)}::text[])
      as needed ("table", "right")
    where not has_table_privilege(quote_ident(current_schema()) || '.' || needed."table", needed."right")`.execute(
    db,
  );
  const { user, missing } = rows[0]!;
  if (missing === null) return;
  throw new SquadError(
    'PERMISSION_DENIED',
    `The user ${user} may not run a hub on the database ${name}: it lacks ${missing}.`,
    { suggestions: [GRANT] },
  );
}

const GRANT = 'Give it the rights, as the owner of the tables: `squad db grant USER --apply`.';

/** Throws PERMISSION_DENIED if the user of the session may not apply these migrations. */
export async function requireOwner(db: Db, name: string, missing: readonly string[]): Promise<void> {
  const { rows } = await sql<{ user: string; may_create: boolean; is_owner: boolean | null }>`
    select current_user as user, has_schema_privilege(current_schema(), 'create') as may_create,
      (select pg_has_role(relowner, 'usage') from pg_class where oid = ${table('runs')}) as is_owner`.execute(
    db,
  );
  const { user, may_create, is_owner } = rows[0]!;
  if (may_create && is_owner !== false) return;
  const what =
    is_owner === null
      ? `has no tables of Squad yet, and the user ${user} may not create them`
      : `needs changes of its tables (${missing.join(', ')}), and the user ${user} may not make them`;
  throw new SquadError('PERMISSION_DENIED', `The database ${name} ${what}.`, {
    suggestions: [
      'Run `squad db migrate` with the URL of the user that owns the tables in SQUAD_DATABASE_URL.',
    ],
  });
}

/** Whether the table exists. */
export async function hasTable(db: Db, name: keyof Tables | 'hubs'): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`select ${table(name)} is not null as found`.execute(db);
  return rows[0]!.found;
}

const table = (name: string): RawBuilder<unknown> =>
  sql`to_regclass(quote_ident(current_schema()) || '.' || ${name}::text)`;
