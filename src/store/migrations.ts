import { type Kysely, sql } from 'kysely';
import { SquadError } from '../schema/error.ts';
import type { Backend } from './backend.ts';
import type { Tables } from './tables.ts';

/** Read-only views with the table names of MCP coordination servers, for programs that query those; see docs/guides/runs/watching.md. */
async function coordinationViews(db: Kysely<Tables>): Promise<void> {
  const view = (name: string, select: string) => sql.raw(`create view ${name} as ${select}`).execute(db);

  await view(
    'instances',
    `select id, type, status, role_id, engine, model, task, workspace, directory,
       json_extract(worktree, '$.path') as worktree_path, json_extract(worktree, '$.branch') as branch_name,
       parent_id as parent_instance, lineage_id, squad_id, client, cost_usd, created_at, started_at, ended_at
     from runs`,
  );

  await view(
    'instance_relationships',
    `select coder_id as parent_instance, reviewer_id as child_instance, 'spawned_review' as relationship_type,
       iteration as review_iteration, requested_at as created_at
     from reviews
     union all
     select parent_id, id, 'spawned', null, created_at
     from runs where parent_id is not null and review_of is null`,
  );

  await view(
    'mcp_events',
    `select seq as id, at as created_at, run_id as instance_id, type as event_type,
       json_extract(data, '$.tool') as tool_name, json_extract(data, '$.ok') as success,
       json_extract(data, '$.code') as error_code, data
     from events`,
  );

  // The settings table holds only changed settings. Programs read the review limits here, so their defaults are included.
  await view(
    'user_config',
    `select key, value, 0 as is_encrypted from settings
     union all
     select column1, column2, 0
     from (values ('review.max_iterations', '3'), ('review.auto_abandon_after', '5'), ('review.timeout_hours', '24')) as defaults
     where column1 not in (select key from settings)`,
  );
}

async function inbox(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('inbox')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('run_id', 'text', column => column.notNull())
    .addColumn('squad_id', 'text', column => column.notNull())
    .addColumn('kind', 'text', column => column.notNull())
    .addColumn('source', 'text')
    .addColumn('question', 'text', column => column.notNull())
    .addColumn('details', 'text')
    .addColumn('choices', 'text', column => column.notNull())
    .addColumn('fields', 'text', column => column.notNull())
    .addColumn('owner', 'text', column => column.notNull())
    .addColumn('default_answer', 'text')
    .addColumn('created_at', 'bigint', column => column.notNull())
    .addColumn('deadline_at', 'bigint', column => column.notNull())
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('answer', 'text')
    .addColumn('answered_by', 'text')
    .addColumn('answered_at', 'bigint')
    .addColumn('heard_at', 'bigint')
    .execute();

  const index = (name: string) => db.schema.createIndex(name).on('inbox');
  await index('inbox_of_run').columns(['run_id', 'created_at desc', 'id']).execute();
  await index('inbox_newest').columns(['created_at desc', 'id']).execute();
  await index('inbox_open').column('created_at').where(sql.ref('state'), '=', sql.lit('open')).execute();
}

async function inboxUses(db: Kysely<Tables>): Promise<void> {
  for (const column of ['use_key', 'withdrawn_because'])
    await db.schema.alterTable('inbox').addColumn(column, 'text').execute();
}

async function messages(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('messages')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('run_id', 'text', column => column.notNull())
    .addColumn('turn', 'integer', column => column.notNull())
    .addColumn('position', 'integer', column => column.notNull())
    .addColumn('parent_id', 'text')
    .addColumn('label', 'text', column => column.notNull())
    .addColumn('role', 'text', column => column.notNull())
    .addColumn('content', 'text', column => column.notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .execute();
  await db.schema
    .createIndex('messages_of_run')
    .on('messages')
    .unique()
    .columns(['run_id', 'turn', 'position'])
    .execute();

  await db.schema
    .createTable('conversations')
    .addColumn('run_id', 'text', column => column.primaryKey().notNull())
    .addColumn('label', 'text', column => column.notNull())
    .addColumn('subagent', 'text')
    .addColumn('started_at', 'bigint', column => column.notNull())
    .addColumn('is_closed', 'integer', column => column.notNull())
    .execute();
  const index = (name: string) => db.schema.createIndex(name).on('conversations');
  await index('conversations_newest').columns(['started_at desc', 'run_id']).execute();
  await index('conversations_of_subagent').columns(['subagent', 'started_at desc']).execute();
  // Looked for at every start of the hub, among runs of which few are of this engine.
  await db.schema
    .createIndex('runs_native')
    .on('runs')
    .column('created_at')
    .where(sql.ref('engine'), '=', sql.lit('native'))
    .execute();
}

async function reviews(db: Kysely<Tables>): Promise<void> {
  // One column a statement: not every database adds several at once.
  const runs = () => db.schema.alterTable('runs');
  await runs().addColumn('type', 'text').execute();
  await runs().addColumn('review_of', 'text').execute();
  await runs().addColumn('worktree', 'text').execute();
  await runs()
    .addColumn('turn', 'integer', column => column.notNull().defaultTo(1))
    .execute();

  // A review is kept as long as any run of its task: its coder and its reviewer may be forgotten before.
  await db.schema
    .createTable('reviews')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('lineage_id', 'text', column => column.notNull())
    .addColumn('coder_id', 'text', column => column.notNull())
    .addColumn('reviewer_id', 'text', column => column.notNull())
    .addColumn('iteration', 'integer', column => column.notNull())
    .addColumn('commit', 'text', column => column.notNull())
    .addColumn('completion_message', 'text')
    .addColumn('outcome', 'text')
    .addColumn('reason', 'text')
    .addColumn('feedback', 'text')
    .addColumn('feedback_by', 'text')
    .addColumn('priority', 'text')
    .addColumn('actionable_items', 'text', column => column.notNull())
    .addColumn('feedback_commit', 'text')
    .addColumn('requested_at', 'bigint', column => column.notNull())
    .addColumn('deadline_at', 'bigint', column => column.notNull())
    .addColumn('closed_at', 'bigint')
    .addColumn('told_in_turn', 'integer')
    .execute();

  await db.schema
    .createTable('intents')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('kind', 'text', column => column.notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .addColumn('data', 'text', column => column.notNull())
    .execute();

  await db.schema
    .createTable('review_limits')
    .addColumn('lineage_id', 'text', column => column.primaryKey().notNull())
    .addColumn('review_limit', 'integer', column => column.notNull())
    .execute();

  const index = (name: string) => db.schema.createIndex(name);
  await index('runs_of_lineage').on('runs').columns(['lineage_id', 'created_at desc', 'id']).execute();
  await index('runs_with_worktree')
    .on('runs')
    .columns(['created_at desc', 'id'])
    .where(sql.ref('worktree'), 'is not', null)
    .execute();
  await index('reviews_of_lineage').on('reviews').columns(['lineage_id', 'requested_at']).execute();
  await index('reviews_of_coder').on('reviews').columns(['coder_id', 'requested_at']).execute();
  await index('reviews_of_reviewer').on('reviews').columns(['reviewer_id', 'requested_at']).execute();
  await index('reviews_open')
    .on('reviews')
    .column('requested_at')
    .where(sql.ref('outcome'), 'is', null)
    .execute();
}

export async function runsAndEvents(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('squads')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('workspace', 'text', column => column.notNull())
    .addColumn('client', 'text')
    .addColumn('metadata', 'text')
    .addColumn('created_at', 'bigint', column => column.notNull())
    .execute();

  // A parent or a chat may be forgotten before the run that names it, so only the squad is held by a key.
  await db.schema
    .createTable('runs')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('squad_id', 'text', column => column.notNull().references('squads.id'))
    .addColumn('position', 'integer', column => column.notNull())
    .addColumn('lineage_id', 'text', column => column.notNull())
    .addColumn('role_id', 'text')
    .addColumn('task', 'text', column => column.notNull())
    .addColumn('title', 'text')
    .addColumn('cwd', 'text', column => column.notNull())
    .addColumn('directory', 'text', column => column.notNull())
    .addColumn('workspace', 'text', column => column.notNull())
    .addColumn('engine', 'text', column => column.notNull())
    .addColumn('output_is_events', 'integer', column => column.notNull())
    .addColumn('model', 'text')
    .addColumn('state_mode', 'text', column => column.notNull())
    .addColumn('chat_id', 'text')
    .addColumn('chat_is_new', 'integer', column => column.notNull())
    .addColumn('parent_id', 'text')
    .addColumn('depth', 'integer', column => column.notNull())
    .addColumn('client', 'text')
    .addColumn('timeout_ms', 'bigint', column => column.notNull())
    .addColumn('keep_leftovers', 'integer', column => column.notNull())
    .addColumn('options', 'text', column => column.notNull())
    .addColumn('policy', 'text', column => column.notNull())
    .addColumn('token_hash', 'text')
    .addColumn('status', 'text', column => column.notNull())
    .addColumn('error', 'text')
    .addColumn('usage', 'text')
    .addColumn('notes', 'text', column => column.notNull())
    .addColumn('evidence', 'text')
    .addColumn('cost_usd', 'double precision')
    .addColumn('created_at', 'bigint', column => column.notNull())
    .addColumn('started_at', 'bigint')
    .addColumn('ended_at', 'bigint')
    .execute();

  await db.schema
    .createTable('turns')
    .addColumn('run_id', 'text', column => column.notNull().references('runs.id'))
    .addColumn('number', 'integer', column => column.notNull())
    .addColumn('pid', 'integer')
    .addColumn('started_at', 'bigint', column => column.notNull())
    .addColumn('deadline_at', 'bigint', column => column.notNull())
    .addColumn('stop', 'text')
    .addColumn('ended_at', 'bigint')
    .addColumn('exit_code', 'integer')
    .addColumn('leftovers', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('turns_key', ['run_id', 'number'])
    .execute();

  await db.schema
    .createTable('chats')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('engine', 'text', column => column.notNull())
    .addColumn('run_id', 'text')
    .addColumn('totals', 'text')
    .addColumn('created_at', 'bigint', column => column.notNull())
    .execute();

  await db.schema
    .createTable('events')
    .addColumn('seq', 'integer', column => column.primaryKey().autoIncrement())
    .addColumn('at', 'bigint', column => column.notNull())
    .addColumn('run_id', 'text')
    .addColumn('squad_id', 'text')
    .addColumn('type', 'text', column => column.notNull())
    .addColumn('data', 'text', column => column.notNull())
    .execute();

  await db.schema
    .createTable('settings')
    .addColumn('key', 'text', column => column.primaryKey().notNull())
    .addColumn('value', 'text', column => column.notNull())
    .execute();

  const index = (name: string) => db.schema.createIndex(name);
  await index('squads_newest').on('squads').columns(['created_at desc', 'id']).execute();
  await index('runs_newest').on('runs').columns(['created_at desc', 'id']).execute();
  await index('runs_of_workspace').on('runs').columns(['workspace', 'created_at desc', 'id']).execute();
  await index('runs_of_squad').on('runs').columns(['squad_id', 'position']).execute();
  await index('runs_by_status').on('runs').columns(['status', 'created_at desc', 'id']).execute();
  await index('runs_by_parent').on('runs').columns(['parent_id']).execute();
  await index('runs_by_end').on('runs').columns(['ended_at', 'id']).execute();
  await index('runs_of_chat').on('runs').columns(['chat_id']).execute();
  await index('chats_of_run').on('chats').columns(['run_id']).execute();
  await index('events_of_run').on('events').columns(['run_id', 'seq']).execute();
  await index('events_of_squad').on('events').columns(['squad_id', 'seq']).execute();
}

export async function toolPins(db: Kysely<Tables>): Promise<void> {
  // A row of its own, because a server without a single tool was looked at all the same.
  await db.schema
    .createTable('listed_servers')
    .addColumn('workspace', 'text', column => column.notNull())
    .addColumn('server', 'text', column => column.notNull())
    .addColumn('source', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('listed_servers_key', ['workspace', 'server', 'source'])
    .execute();

  await db.schema
    .createTable('tool_pins')
    .addColumn('workspace', 'text', column => column.notNull())
    .addColumn('server', 'text', column => column.notNull())
    .addColumn('source', 'text', column => column.notNull())
    .addColumn('name', 'text', column => column.notNull())
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('hash', 'text', column => column.notNull())
    .addColumn('definition', 'text', column => column.notNull())
    .addColumn('seen_at', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('tool_pins_key', ['workspace', 'server', 'source', 'name', 'state'])
    .execute();
}

interface Migration {
  name: string;
  up(db: Kysely<Tables>): Promise<void>;
}

/** In order of application. A released migration never changes its name or content. */
const MIGRATIONS: Migration[] = [
  { name: '001-runs-and-events', up: runsAndEvents },
  { name: '002-tool-pins', up: toolPins },
  { name: '003-reviews', up: reviews },
  { name: '004-inbox', up: inbox },
  { name: '005-inbox-uses', up: inboxUses },
  { name: '006-messages', up: messages },
  { name: '007-coordination-views', up: coordinationViews },
];

/** Applies all missing migrations in one transaction. */
export async function migrate(backend: Backend, file: string, version: string): Promise<void> {
  await backend.db.transaction().execute(async trx => {
    await makeRecord(trx);
    const applied = await trx.selectFrom('migrations').select(['name', 'version']).orderBy('name').execute();
    const unknown = applied.findLast(({ name }) => !MIGRATIONS.some(migration => migration.name === name));
    if (unknown) throw tooNew(file, version, unknown.version);

    for (const migration of MIGRATIONS) {
      if (applied.some(({ name }) => name === migration.name)) continue;
      await migration.up(trx);
      await trx
        .insertInto('migrations')
        .values({ name: migration.name, applied_at: Date.now(), version })
        .execute();
    }
  });
}

async function makeRecord(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('migrations')
    .ifNotExists()
    .addColumn('name', 'text', column => column.primaryKey().notNull())
    .addColumn('applied_at', 'bigint', column => column.notNull())
    .addColumn('version', 'text', column => column.notNull())
    .execute();
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
