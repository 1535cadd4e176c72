import { sql } from 'kysely';
import { SquadError } from '../schema/error.ts';
import type { Backend } from './backend.ts';

/** The row of `spending` for a run, and the amounts that the run adds to it; `runs` is a group of runs. */
function spendingOf(row: 'runs' | 'new' | 'old'): string {
  const all = row === 'runs';
  const sum = (value: string) => (all ? `sum(${value})` : value);
  return `select ${row}.created_at / 900000, ${row}.ended_at is not null, ${all ? 'count(*)' : 1},
    ${sum(`coalesce(${row}.cost_usd, 0)`)}, ${sum(`${row}.cost_usd is not null`)},
    ${sum(`${row}.cost_usd is not null and coalesce(${row}.cost_is_estimated, 0)`)},
    ${sum(`${row}.started_at is not null and ${row}.cost_usd is null`)}`;
}

const SUMS = ['runs', 'cost_usd', 'reported', 'estimated', 'unreported'];

const added = `
  insert into run_counts values (new.workspace, new.status, 1)
    on conflict (workspace, status) do update set runs = runs + 1;
  insert into spending ${spendingOf('new')} where true
    on conflict (quarter, is_ended) do update set ${SUMS.map(name => `${name} = ${name} + excluded.${name}`)};`;

const removed = `
  update run_counts set runs = runs - 1 where workspace = old.workspace and status = old.status;
  delete from run_counts where workspace = old.workspace and status = old.status and runs = 0;
  insert into spending ${spendingOf('old')} where true
    on conflict (quarter, is_ended) do update set ${SUMS.map(name => `${name} = ${name} - excluded.${name}`)};
  delete from spending where quarter = old.created_at / 900000 and is_ended = (old.ended_at is not null) and runs = 0;`;

/** In order of application. A released migration never changes its name or what it does. */
export const MIGRATIONS: { name: string; statements: string[] }[] = [
  {
    name: '001-runs-and-events',
    statements: [
      `create table squads (
         id text not null primary key, workspace text not null, client text, metadata text,
         created_at bigint not null)`,
      // Only the squad is a foreign key: a parent or a chat may be deleted before the run that refers to it.
      `create table runs (
         id text not null primary key, squad_id text not null references squads (id), position integer not null,
         lineage_id text not null, role_id text, task text not null, title text,
         cwd text not null, directory text not null, workspace text not null,
         engine text not null, output_is_events integer not null, model text, state_mode text not null,
         chat_id text, chat_is_new integer not null, parent_id text, depth integer not null, client text,
         timeout_ms bigint not null, keep_leftovers integer not null, options text not null, policy text not null,
         token_hash text, status text not null, error text, usage text, notes text not null, evidence text,
         cost_usd double precision, created_at bigint not null, started_at bigint, ended_at bigint)`,
      `create table turns (
         run_id text not null references runs (id), number integer not null, pid integer,
         started_at bigint not null, deadline_at bigint not null, stop text, ended_at bigint,
         exit_code integer, leftovers text not null,
         constraint turns_key primary key (run_id, number))`,
      `create table chats (
         id text not null primary key, engine text not null, run_id text, totals text,
         created_at bigint not null)`,
      `create table events (
         seq integer primary key autoincrement, at bigint not null, run_id text, squad_id text,
         type text not null, data text not null)`,
      'create table settings (key text not null primary key, value text not null)',
      'create index squads_newest on squads (created_at desc, id)',
      'create index runs_newest on runs (created_at desc, id)',
      'create index runs_of_workspace on runs (workspace, created_at desc, id)',
      'create index runs_of_squad on runs (squad_id, position)',
      'create index runs_by_status on runs (status, created_at desc, id)',
      'create index runs_by_parent on runs (parent_id)',
      'create index runs_by_end on runs (ended_at, id)',
      'create index runs_of_chat on runs (chat_id)',
      'create index chats_of_run on chats (run_id)',
      'create index events_of_run on events (run_id, seq)',
      'create index events_of_squad on events (squad_id, seq)',
    ],
  },
  {
    name: '002-tool-pins',
    statements: [
      // A separate table, because a server that was listed without any tool must be remembered too.
      `create table listed_servers (
         workspace text not null, server text not null, source text not null,
         constraint listed_servers_key primary key (workspace, server, source))`,
      `create table tool_pins (
         workspace text not null, server text not null, source text not null, name text not null,
         state text not null, hash text not null, definition text not null, seen_at bigint not null,
         constraint tool_pins_key primary key (workspace, server, source, name, state))`,
    ],
  },
  {
    name: '003-reviews',
    statements: [
      'alter table runs add column type text',
      'alter table runs add column review_of text',
      'alter table runs add column worktree text',
      'alter table runs add column turn integer default 1 not null',
      // No foreign keys: a review is kept as long as any run of its task exists, and its coder and reviewer may be
      // deleted before.
      `create table reviews (
         id text not null primary key, lineage_id text not null, coder_id text not null, reviewer_id text not null,
         iteration integer not null, "commit" text not null, completion_message text, outcome text, reason text,
         feedback text, feedback_by text, priority text, actionable_items text not null, feedback_commit text,
         requested_at bigint not null, deadline_at bigint not null, closed_at bigint, told_in_turn integer)`,
      'create table intents (id text not null primary key, kind text not null, at bigint not null, data text not null)',
      'create table review_limits (lineage_id text not null primary key, review_limit integer not null)',
      'create index runs_of_lineage on runs (lineage_id, created_at desc, id)',
      'create index runs_with_worktree on runs (created_at desc, id) where worktree is not null',
      'create index reviews_of_lineage on reviews (lineage_id, requested_at)',
      'create index reviews_of_coder on reviews (coder_id, requested_at)',
      'create index reviews_of_reviewer on reviews (reviewer_id, requested_at)',
      'create index reviews_open on reviews (requested_at) where outcome is null',
    ],
  },
  {
    name: '004-inbox',
    statements: [
      `create table inbox (
         id text not null primary key, run_id text not null, squad_id text not null, kind text not null,
         source text, question text not null, details text, choices text not null, fields text not null,
         owner text not null, default_answer text, created_at bigint not null, deadline_at bigint not null,
         state text not null, answer text, answered_by text, answered_at bigint, heard_at bigint)`,
      'create index inbox_of_run on inbox (run_id, created_at desc, id)',
      'create index inbox_newest on inbox (created_at desc, id)',
      `create index inbox_open on inbox (created_at) where state = 'open'`,
    ],
  },
  {
    name: '005-inbox-uses',
    statements: [
      'alter table inbox add column use_key text',
      'alter table inbox add column withdrawn_because text',
    ],
  },
  {
    name: '006-messages',
    statements: [
      `create table messages (
         id text not null primary key, run_id text not null, turn integer not null, position integer not null,
         parent_id text, label text not null, role text not null, content text not null, at bigint not null)`,
      'create unique index messages_of_run on messages (run_id, turn, position)',
      `create table conversations (
         run_id text not null primary key, label text not null, subagent text, started_at bigint not null,
         is_closed integer not null)`,
      'create index conversations_newest on conversations (started_at desc, run_id)',
      'create index conversations_of_subagent on conversations (subagent, started_at desc)',
      // A partial index: the hub searches for these runs at every start, and few runs use this engine.
      `create index runs_native on runs (created_at) where engine = 'native'`,
    ],
  },
  {
    // Read-only views with the table names of MCP coordination servers, for programs that query those; see
    // docs/guides/runs/watching.md.
    name: '007-coordination-views',
    statements: [
      `create view instances as select id, type, status, role_id, engine, model, task, workspace, directory,
           json_extract(worktree, '$.path') as worktree_path, json_extract(worktree, '$.branch') as branch_name,
           parent_id as parent_instance, lineage_id, squad_id, client, cost_usd, created_at, started_at, ended_at
         from runs`,
      `create view instance_relationships as
         select coder_id as parent_instance, reviewer_id as child_instance, 'spawned_review' as relationship_type,
           iteration as review_iteration, requested_at as created_at
         from reviews
         union all
         select parent_id, id, 'spawned', null, created_at
         from runs where parent_id is not null and review_of is null`,
      `create view mcp_events as select seq as id, at as created_at, run_id as instance_id, type as event_type,
           json_extract(data, '$.tool') as tool_name, json_extract(data, '$.ok') as success,
           json_extract(data, '$.code') as error_code, data
         from events`,
      // The settings table holds only changed settings. Programs read the review limits here, so their defaults are included.
      `create view user_config as select key, value, 0 as is_encrypted from settings
         union all
         select column1, column2, 0
         from (values ('review.max_iterations', '3'), ('review.auto_abandon_after', '5'), ('review.timeout_hours', '24')) as defaults
         where column1 not in (select key from settings)`,
    ],
  },
  {
    // For reports over a million runs: triggers count the frequent figures, and covering indexes serve the rest.
    name: '008-reports',
    statements: [
      `create table run_counts (
         workspace text not null, status text not null, runs integer not null,
         constraint run_counts_key primary key (workspace, status))`,
      ...['subagent text', 'input_tokens bigint', 'output_tokens bigint', 'cost_is_estimated integer'].map(
        column => `alter table runs add column ${column}`,
      ),
      `update runs set subagent = case when json_valid(options) then json_extract(options, '$.subagent') end,
         input_tokens = case when json_valid(usage) then json_extract(usage, '$.input') end,
         output_tokens = case when json_valid(usage) then json_extract(usage, '$.output') end,
         cost_is_estimated = case when json_valid(usage) then json_extract(usage, '$.costIsEstimated') end`,
      // Spending is grouped by quarter of an hour, because in every time zone a day begins at one.
      `create table spending (
         quarter integer not null, is_ended integer not null, runs integer not null, cost_usd double precision not null,
         reported integer not null, estimated integer not null, unreported integer not null,
         constraint spending_key primary key (quarter, is_ended))`,
      `create index runs_figures on runs (created_at desc, id, squad_id, workspace, role_id, subagent, model, status,
         started_at, ended_at, cost_usd, input_tokens, output_tokens, cost_is_estimated)`,
      // The new index begins like this one.
      'drop index runs_newest',
      'create index runs_of_workspace_by_status on runs (workspace, status, created_at desc, id)',
      `create index runs_failed on runs (ended_at) where status in ('error', 'timeout', 'lost')`,
      `create index runs_left_with_error on runs (ended_at) where status = 'completed' and error is not null`,
      // After the indexes, which hold all that these read: the rows of a million runs are gigabytes.
      `insert into run_counts select workspace, status, count(*) from runs group by workspace, status`,
      `insert into spending ${spendingOf('runs')} from runs group by 1, 2`,
      `create trigger runs_added after insert on runs begin ${added} end`,
      `create trigger runs_removed after delete on runs begin ${removed} end`,
      `create trigger runs_changed after update on runs
         when old.status <> new.status or old.workspace <> new.workspace or old.created_at <> new.created_at
           or old.cost_usd is not new.cost_usd or old.cost_is_estimated is not new.cost_is_estimated
           or old.started_at is not new.started_at or old.ended_at is not new.ended_at
         begin ${removed} ${added} end`,
    ],
  },
];

/** Applies all missing migrations in one transaction. */
export async function migrate(backend: Backend, file: string, version: string): Promise<void> {
  await backend.db.transaction().execute(async trx => {
    await sql`create table if not exists migrations (
      name text not null primary key, applied_at bigint not null, version text not null)`.execute(trx);
    const applied = await trx.selectFrom('migrations').select(['name', 'version']).orderBy('name').execute();
    const unknown = applied.findLast(({ name }) => !MIGRATIONS.some(migration => migration.name === name));
    if (unknown) throw tooNew(file, version, unknown.version);

    for (const migration of MIGRATIONS) {
      if (applied.some(({ name }) => name === migration.name)) continue;
      for (const statement of migration.statements) await sql.raw(statement).execute(trx);
      await trx
        .insertInto('migrations')
        .values({ name: migration.name, applied_at: Date.now(), version })
        .execute();
    }
  });
}

function tooNew(file: string, ours: string, theirs: string): SquadError {
  return new SquadError(
    'DATABASE_TOO_NEW',
    `The database ${file} was changed by a newer Squad (${theirs}) than this one (${ours}). Nothing was touched.`,
    {
      suggestions: [
        `Upgrade Squad to ${theirs} or later.`,
        'If the newer version is still running, stop its hub with `squad hub stop`.',
        'To use both versions, give this one its own SQUAD_HOME or MCP_DATABASE_PATH.',
      ],
    },
  );
}
