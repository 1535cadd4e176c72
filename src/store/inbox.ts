import { type Kysely, sql } from 'kysely';
import type { Tables } from './tables.ts';

export async function inbox(db: Kysely<Tables>): Promise<void> {
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
