import type { Kysely } from 'kysely';
import type { Tables } from './tables.ts';

export async function inboxUses(db: Kysely<Tables>): Promise<void> {
  for (const column of ['use_key', 'withdrawn_because'])
    await db.schema.alterTable('inbox').addColumn(column, 'text').execute();
}
