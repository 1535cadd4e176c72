import { type Kysely, sql } from 'kysely';
import type { Tables } from './tables.ts';

export async function messages(db: Kysely<Tables>): Promise<void> {
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
