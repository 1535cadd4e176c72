import type { Kysely } from 'kysely';
import type { Tables } from './tables.ts';

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
