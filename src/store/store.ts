import type { Kysely, Transaction } from 'kysely';
import type { Pin, PinKey, PinStore } from '../core/ports/gateway.ts';
import type { MessageStore, PlacedMessage } from '../core/ports/messages.ts';
import type { Change, Store } from '../core/ports/store.ts';
import type { Backend } from './backend.ts';
import * as board from './board-queries.ts';
import { putRows, putSetting, toRows } from './changes.ts';
import { forgetRuns } from './forget.ts';
import { idsLike, recentIds } from './id-queries.ts';
import { inboxItem, inboxItems } from './inbox-queries.ts';
import * as talk from './message-queries.ts';
import { conversationToRow, messageToRow } from './message-rows.ts';
import { patiently } from './patiently.ts';
import { pinRows, pinsOf, replacePins } from './pins.ts';
import * as queries from './queries.ts';
import { intents, review, reviewedLineages, reviewLimit, reviews } from './review-queries.ts';
import type { Tables } from './tables.ts';
import { closed, Writer } from './writer.ts';

/** The ports, on any backend whose tables are in place. */
export function storeOn(backend: Backend, retryMs: number): Store & PinStore & MessageStore {
  const writer = new Writer(backend, retryMs);
  const reading = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;

  function read<T>(query: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
    if (closing) return Promise.reject(closed());
    const result = patiently(() => query(backend.db), {
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
      const rows = pinRows(key, pins);
      const { ...kept } = key;
      return write(trx => replacePins(trx, kept, rows));
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
    figures: filter => read(db => queries.figures(db, filter)),
    settings: () => read(queries.settings),
    endedRuns: filter => read(db => board.endedRuns(db, filter)),
    countEnded: (filter, at) => read(db => board.countEnded(db, filter, at)),
    liveIds: filter => read(db => board.liveIds(db, filter)),
    leftWithError: (filter, at) => read(db => board.leftWithError(db, filter, at)),
    takenUp: ids => read(db => board.takenUp(db, ids)),
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
    endedBefore: (before, limit) => read(db => queries.endedBefore(db, before, limit)),
    idsLike: (prefix, limit) => read(db => idsLike(db, prefix, limit)),
    recentIds: limit => read(db => recentIds(db, limit)),
  };
}

/** News of what an agent is doing, and nothing anybody waits for. */
const isOnlyActivity = ({ events, ...rows }: Change): boolean =>
  events.length > 0 &&
  Object.values(rows).every(some => !some?.length) &&
  events.every(event => event.body.type === 'run.activity');
