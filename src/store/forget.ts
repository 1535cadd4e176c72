import type { Transaction } from 'kysely';
import type { RunId } from '../schema/ids.ts';
import type { Tables } from './tables.ts';

/** Databases limit the values of one statement. */
const IDS_AT_ONCE = 500;

/**
 * Inside one transaction: the runs with their turns, events, questions and conversations, then squads and chats of theirs that nothing refers to, and
 * the reviews and limits of tasks of which no run is left. As long as one is, the rounds its task has had are counted. What
 * nobody can close any more goes at once.
 */
export async function forgetRuns(trx: Transaction<Tables>, runIds: RunId[]): Promise<void> {
  for (let at = 0; at < runIds.length; at += IDS_AT_ONCE)
    await forgetSome(trx, runIds.slice(at, at + IDS_AT_ONCE));
}

async function forgetSome(trx: Transaction<Tables>, ids: RunId[]): Promise<void> {
  const runs = await trx
    .selectFrom('runs')
    .select(['squad_id', 'chat_id', 'lineage_id'])
    .where('id', 'in', ids)
    .execute();
  const held = await trx.selectFrom('chats').select('id').where('run_id', 'in', ids).execute();
  const squads = [...new Set(runs.map(run => run.squad_id))];
  const lineages = [...new Set(runs.map(run => run.lineage_id))];
  const chats = [...new Set([...runs.map(run => run.chat_id ?? ''), ...held.map(chat => chat.id)])];

  await trx.deleteFrom('events').where('run_id', 'in', ids).execute();
  await trx.deleteFrom('turns').where('run_id', 'in', ids).execute();
  await trx.deleteFrom('inbox').where('run_id', 'in', ids).execute();
  await trx.deleteFrom('messages').where('run_id', 'in', ids).execute();
  await trx.deleteFrom('conversations').where('run_id', 'in', ids).execute();
  await trx.deleteFrom('reviews').where('coder_id', 'in', ids).where('outcome', 'is', null).execute();
  await trx.deleteFrom('runs').where('id', 'in', ids).execute();
  await trx.updateTable('chats').set({ run_id: null }).where('run_id', 'in', ids).execute();
  for (const id of squads) await forgetSquadWithoutRuns(trx, id);
  for (const id of chats) await forgetChatWithoutRuns(trx, id);
  for (const id of lineages) await forgetLineageWithoutRuns(trx, id);
}

async function forgetSquadWithoutRuns(trx: Transaction<Tables>, id: Tables['squads']['id']): Promise<void> {
  const left = await trx.selectFrom('runs').select('id').where('squad_id', '=', id).limit(1).execute();
  if (left.length > 0) return;
  await trx.deleteFrom('events').where('squad_id', '=', id).execute();
  await trx.deleteFrom('squads').where('id', '=', id).execute();
}

async function forgetChatWithoutRuns(trx: Transaction<Tables>, id: string): Promise<void> {
  const left = await trx.selectFrom('runs').select('id').where('chat_id', '=', id).limit(1).execute();
  if (left.length > 0) return;
  await trx.deleteFrom('chats').where('id', '=', id).where('run_id', 'is', null).execute();
}

async function forgetLineageWithoutRuns(trx: Transaction<Tables>, lineageId: RunId): Promise<void> {
  const left = await trx
    .selectFrom('runs')
    .select('id')
    .where('lineage_id', '=', lineageId)
    .limit(1)
    .execute();
  if (left.length > 0) return;
  await trx.deleteFrom('reviews').where('lineage_id', '=', lineageId).execute();
  await trx.deleteFrom('review_limits').where('lineage_id', '=', lineageId).execute();
}
