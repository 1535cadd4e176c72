import { setImmediate as immediate } from 'node:timers/promises';
import type { Kysely, Transaction } from 'kysely';
import type { RunFigures } from '../core/cost/usage.ts';
import type { Pin, PinKey, PinStore } from '../core/ports/gateway.ts';
import type { Change, MessageStore, PlacedMessage, Store } from '../core/ports/store.ts';
import type { RunId } from '../schema/ids.ts';
import { type Backend, withRetry } from './backend.ts';
import * as board from './board-queries.ts';
import { putRows, putSetting, toRows } from './changes.ts';
import * as talk from './message-queries.ts';
import { conversationToRow, messageToRow } from './message-queries.ts';
import * as queries from './queries.ts';
import {
  idsLike,
  inboxItem,
  inboxItems,
  intents,
  recentIds,
  review,
  reviewedLineages,
  reviewLimit,
  reviews,
} from './queries.ts';
import { type PinRow, pinToRow, rowToPin, type Tables } from './tables.ts';
import { closed, Writer } from './writer.ts';

/** SQLite limits the number of values in one statement. */
const IDS_AT_ONCE = 500;

/**
 * Deletes runs with their turns, events, questions and conversations. Then deletes squads and chats that nothing refers to any
 * more, and the reviews and limits of tasks without any run left: as long as a task has a run, its review rounds count. Open
 * reviews of a deleted coder are deleted at once, because nobody could close them.
 */
async function forgetRuns(trx: Transaction<Tables>, runIds: RunId[]): Promise<void> {
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
  for (const id of squads) {
    if (await hasRuns(trx, 'squad_id', id)) continue;
    await trx.deleteFrom('events').where('squad_id', '=', id).execute();
    await trx.deleteFrom('squads').where('id', '=', id).execute();
  }
  for (const id of chats)
    if (!(await hasRuns(trx, 'chat_id', id)))
      await trx.deleteFrom('chats').where('id', '=', id).where('run_id', 'is', null).execute();
  for (const id of lineages) {
    if (await hasRuns(trx, 'lineage_id', id)) continue;
    await trx.deleteFrom('reviews').where('lineage_id', '=', id).execute();
    await trx.deleteFrom('review_limits').where('lineage_id', '=', id).execute();
  }
}

async function hasRuns(
  trx: Transaction<Tables>,
  column: 'squad_id' | 'chat_id' | 'lineage_id',
  id: string,
): Promise<boolean> {
  const ref = trx.dynamic.ref<typeof column>(column);
  const run = await trx.selectFrom('runs').select('id').where(ref, '=', id).limit(1).executeTakeFirst();
  return run !== undefined;
}

/** Sorted by name, an approved definition before a pending one. Null if the server was never listed. */
async function pinsOf(db: Kysely<Tables>, key: PinKey): Promise<Pin[] | null> {
  const { workspace, server, source } = key;
  const rows = await db
    .selectFrom('tool_pins')
    .selectAll()
    .where(eb => eb.and({ workspace, server, source }))
    .orderBy('name')
    .orderBy('state')
    .execute();
  if (rows.length > 0) return rows.map(rowToPin);
  const listed = await db
    .selectFrom('listed_servers')
    .select('server')
    .where(eb => eb.and({ workspace, server, source }))
    .executeTakeFirst();
  return listed === undefined ? null : [];
}

async function replacePins(trx: Transaction<Tables>, key: PinKey, rows: PinRow[]): Promise<void> {
  const { workspace, server, source } = key;
  await trx
    .deleteFrom('tool_pins')
    .where(eb => eb.and({ workspace, server, source }))
    .execute();
  await trx
    .insertInto('listed_servers')
    .values({ workspace, server, source })
    .onConflict(conflict => conflict.columns(['workspace', 'server', 'source']).doNothing())
    .execute();
  for (const row of rows) await trx.insertInto('tool_pins').values(row).execute();
}

/** Implements the store ports on a migrated backend. */
export function storeOn(backend: Backend, retryMs: number): Store & PinStore & MessageStore {
  const writer = new Writer(backend, retryMs);
  const reading = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;

  function read<T>(query: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
    if (closing) return Promise.reject(closed());
    const result = withRetry(() => query(backend.db), {
      failureOf: thrown => backend.failureOf(thrown),
      waitOut: ['locked'],
      windowMs: retryMs,
    }).finally(() => reading.delete(result));
    reading.add(result);
    return result;
  }

  function write(apply: (trx: Transaction<Tables>) => Promise<void>): Promise<void> {
    return writer.add({ apply: trx => apply(trx).then(() => []), events: [], mayWait: false });
  }

  function commit(change: Change): Promise<void> {
    try {
      const rows = toRows(change);
      const apply = (trx: Transaction<Tables>) => putRows(trx, backend, rows);
      return writer.add({ apply, events: change.events, mayWait: isOnlyActivity(change) });
    } catch (thrown) {
      return Promise.reject(backend.failureOf(thrown).error);
    }
  }

  function savePins(key: PinKey, pins: Pin[]): Promise<void> {
    try {
      const rows = pins.map(pin => pinToRow(key, pin));
      return write(trx => replacePins(trx, { ...key }, rows));
    } catch (thrown) {
      return Promise.reject(backend.failureOf(thrown).error);
    }
  }

  async function saveMessages(messages: readonly PlacedMessage[]): Promise<void> {
    const rows = messages.map(messageToRow);
    const ofRuns = talk.conversationsOf(messages);
    const apply = (trx: Transaction<Tables>) => talk.putMessages(trx, rows, ofRuns).then(() => []);
    await writer.add({ apply, events: [], mayWait: true });
  }

  async function* figures(filter: { workspace?: string; since?: number }): AsyncGenerator<RunFigures[]> {
    for (let last: RunFigures | undefined; ; await immediate()) {
      const page = await read(db => queries.figures(db, filter, last));
      if (page.length === 0) return;
      yield page;
      last = page.at(-1);
    }
  }

  async function close(): Promise<void> {
    await writer.close();
    await Promise.allSettled(reading);
    await backend.close();
  }

  return {
    commit,
    setSetting: (key, value) => write(trx => putSetting(trx, key, value)),
    savePins,
    saveMessages,
    closeConversation: conversation => {
      const row = conversationToRow(conversation, true);
      return write(trx => talk.closeConversation(trx, row));
    },
    forget: runIds => write(trx => forgetRuns(trx, runIds)),
    onEvents: listener => writer.onEvents(listener),
    flush: () => writer.flush(),
    close: () => {
      closing ??= close();
      return closing;
    },

    squad: id => read(db => queries.squad(db, id)),
    run: id => read(db => queries.run(db, id)),
    runs: filter => read(db => queries.runs(db, filter)),
    liveRuns: () => read(queries.liveRuns),
    runsAskedToStop: () => read(queries.runsAskedToStop),
    turns: runId => read(db => queries.turns(db, runId)),
    chat: id => read(db => queries.chat(db, id)),
    review: id => read(db => review(db, id)),
    reviews: filter => read(db => reviews(db, filter)),
    reviewedLineages: () => read(reviewedLineages),
    reviewLimit: lineageId => read(db => reviewLimit(db, lineageId)),
    inboxItem: id => read(db => inboxItem(db, id)),
    inboxItems: filter => read(db => inboxItems(db, filter)),
    intents: () => read(intents),
    events: filter => read(db => queries.events(db, filter)),
    spent: filter => read(db => queries.spent(db, filter)),
    figures,
    settings: () => read(queries.settings),
    endedRuns: filter => read(db => board.endedRuns(db, filter)),
    countEnded: (filter, at) => read(db => board.countEnded(db, filter, at)),
    liveIds: filter => read(db => board.liveIds(db, filter)),
    leftWithError: (filter, at) => read(db => board.leftWithError(db, filter, at)),
    takenUp: ids => read(db => board.resumedRuns(db, ids)),
    spending: since => read(db => board.spending(db, since)),
    workspaces: () => read(board.workspaces),
    turnsOf: ids => read(db => board.turnsOf(db, ids)),
    lastEvent: () => read(board.lastEvent),
    messages: (runId, page) => read(db => talk.messages(db, runId, page)),
    message: (runId, id) => read(db => talk.message(db, runId, id)),
    countMessages: runId => read(db => talk.countMessages(db, runId)),
    conversations: filter => read(db => talk.conversations(db, filter)),
    talkers: () => read(talk.talkers),
    unclosedConversations: limit => read(db => talk.unclosedConversations(db, limit)),
    pins: key => read(db => pinsOf(db, key)),
    endedSince: (since, limit) => read(db => queries.endedSince(db, since, limit)),
    countEndedBefore: before => read(db => queries.countEndedBefore(db, before)),
    endedBefore: (before, limit) => read(db => queries.endedBefore(db, before, limit)),
    idsLike: (prefix, limit) => read(db => idsLike(db, prefix, limit)),
    recentIds: limit => read(db => recentIds(db, limit)),
  };
}

/** Activity of an agent, for which nobody waits. */
const isOnlyActivity = ({ events, ...rows }: Change): boolean =>
  events.length > 0 &&
  Object.values(rows).every(some => !some?.length) &&
  events.every(event => event.body.type === 'run.activity');
