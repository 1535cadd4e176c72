import type { Kysely } from 'kysely';
import { SquadError } from '../schema/error.ts';
import type { Backend, SchemaWords } from './backend.ts';
import { coordinationViews } from './coordination-views.ts';
import { inbox } from './inbox.ts';
import { inboxUses } from './inbox-uses.ts';
import { messages } from './messages.ts';
import { reviews } from './reviews.ts';
import { runsAndEvents } from './runs-and-events.ts';
import type { Tables } from './tables.ts';
import { toolPins } from './tool-pins.ts';

interface Migration {
  name: string;
  up(db: Kysely<Tables>, words: SchemaWords): Promise<void>;
}

/** In the order they are applied. A name that was ever released stays, and what it does stays the same. */
const MIGRATIONS: Migration[] = [
  { name: '001-runs-and-events', up: runsAndEvents },
  { name: '002-tool-pins', up: toolPins },
  { name: '003-reviews', up: reviews },
  { name: '004-inbox', up: inbox },
  { name: '005-inbox-uses', up: inboxUses },
  { name: '006-messages', up: messages },
  { name: '007-coordination-views', up: coordinationViews },
];

/** Brings the database to this build's shape, all at once or not at all. */
export async function migrate(backend: Backend, file: string, version: string): Promise<void> {
  await backend.db.transaction().execute(async trx => {
    await makeRecord(trx);
    const applied = await trx.selectFrom('migrations').select(['name', 'version']).orderBy('name').execute();
    const unknown = applied.findLast(({ name }) => !MIGRATIONS.some(migration => migration.name === name));
    if (unknown) throw tooNew(file, version, unknown.version);

    for (const migration of MIGRATIONS) {
      if (applied.some(({ name }) => name === migration.name)) continue;
      await migration.up(trx, backend.words);
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
        'If the newer one is still running, stop its hub with `squad hub stop`.',
        'To keep both, give this one its own SQUAD_HOME or MCP_DATABASE_PATH.',
      ],
    },
  );
}
