import type { Kysely, Transaction } from 'kysely';
import type { Pin, PinKey } from '../core/ports/gateway.ts';
import { pinToRow, rowToPin } from './rows.ts';
import type { PinRow, Tables } from './tables.ts';

/** By name, an approved definition before the one that waits. Null: the server was never listed. */
export async function pinsOf(db: Kysely<Tables>, key: PinKey): Promise<Pin[] | null> {
  const { workspace, server, source } = key;
  const rows = await db
    .selectFrom('tool_pins')
    .selectAll()
    .where('workspace', '=', workspace)
    .where('server', '=', server)
    .where('source', '=', source)
    .orderBy('name')
    .orderBy('state')
    .execute();
  if (rows.length > 0) return rows.map(rowToPin);
  return (await wasListed(db, key)) ? [] : null;
}

export const pinRows = (key: PinKey, pins: Pin[]): PinRow[] => pins.map(pin => pinToRow(key, pin));

/** Inside one transaction: what was kept goes, what is given stays. */
export async function replacePins(trx: Transaction<Tables>, key: PinKey, rows: PinRow[]): Promise<void> {
  const { workspace, server, source } = key;
  await trx
    .deleteFrom('tool_pins')
    .where('workspace', '=', workspace)
    .where('server', '=', server)
    .where('source', '=', source)
    .execute();
  await trx
    .insertInto('listed_servers')
    .values({ workspace, server, source })
    .onConflict(conflict => conflict.columns(['workspace', 'server', 'source']).doNothing())
    .execute();
  for (const row of rows) await trx.insertInto('tool_pins').values(row).execute();
}

async function wasListed(db: Kysely<Tables>, { workspace, server, source }: PinKey): Promise<boolean> {
  const row = await db
    .selectFrom('listed_servers')
    .select('server')
    .where('workspace', '=', workspace)
    .where('server', '=', server)
    .where('source', '=', source)
    .executeTakeFirst();
  return row !== undefined;
}
