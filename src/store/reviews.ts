import { type Kysely, sql } from 'kysely';
import type { Tables } from './tables.ts';

export async function reviews(db: Kysely<Tables>): Promise<void> {
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
