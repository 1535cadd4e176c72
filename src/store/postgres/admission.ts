import { sql, type Transaction } from 'kysely';
import type { Admission } from '../../core/ports/store.ts';
import { MINUTE_MS, tooManyStarts } from '../../core/runs/admission.ts';
import { chatBusy } from '../../core/runs/plan-run.ts';
import { LIVE } from '../queries.ts';
import type { Tables } from '../tables.ts';
import { SCHEMA_OID, SERVER_TIME } from './schema.ts';

/** Advisory lock of a transaction that saves new runs: "SQRU" in ASCII, and the schema. */
const ADMISSION_LOCK = `((${0x53_51_52_55}::int8 << 32) | ${SCHEMA_OID}::int8)`;

/**
 * Checks for new runs what all hubs share: the starts per minute, and that no run of another hub uses their chats. Hubs
 * save new runs one at a time, so two of them cannot both take the last place or the same chat. Throws SPAWN_RATE_LIMIT and
 * CHAT_BUSY.
 */
export async function admitRuns(
  trx: Transaction<Tables>,
  hub: string,
  { starts, maxStarts, chats }: Admission,
): Promise<void> {
  await sql`select pg_advisory_xact_lock(${sql.raw(ADMISSION_LOCK)})`.execute(trx);
  const { rows } = await sql<{ started: number }>`select count(*) as started from runs
    where created_at > ${sql.raw(SERVER_TIME)} - ${MINUTE_MS}::double precision`.execute(trx);
  const { started } = rows[0]!;
  if (started + starts > maxStarts) throw tooManyStarts(starts, started + starts, maxStarts);
  if (chats.length === 0) return;
  const { rows: holders } = await sql<{ id: string; chat: string }>`
    select id, chat_id as chat from runs
    where hub <> ${hub} and chat_id = any(${chats}::text[]) and status = any(${LIVE}) limit 1`.execute(trx);
  const [holder] = holders;
  if (holder) throw chatBusy(holder.chat, `run ${holder.id} of another hub`);
}
