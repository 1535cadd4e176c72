import type { Kysely } from 'kysely';
import type { SchemaWords } from './backend.ts';
import type { Tables } from './tables.ts';

export async function runsAndEvents(db: Kysely<Tables>, words: SchemaWords): Promise<void> {
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
    .addColumn('seq', words.sequenceType, words.sequence)
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
