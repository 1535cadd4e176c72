import { setImmediate as immediate } from 'node:timers/promises';
import type { Kysely, Transaction } from 'kysely';
import type { RunSums } from '../core/cost/usage.ts';
import type { Pin, PinKey, PinStore } from '../core/ports/gateway.ts';
import type {
  BoardFilter,
  Change,
  EndedFilter,
  EventFilter,
  FiguresFilter,
  MessageStore,
  PlacedMessage,
  RunFilter,
  Store,
} from '../core/ports/store.ts';
import { FAILURE_COUNTS_MS } from '../core/runs/board.ts';
import type { Event } from '../schema/event.ts';
import type { RunId, SquadId } from '../schema/ids.ts';
import type { Run } from '../schema/run.ts';
import { type Backend, withRetry } from './backend.ts';
import * as board from './board-queries.ts';
import { putRows, putSetting, storedKey, toRows } from './changes.ts';
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
import { SharedEvents } from './shared-events.ts';
import { type PinRow, pinToRow, rowToPin, type Tables } from './tables.ts';
import { closed, Writer } from './writer.ts';

/** Number of runs that are removed in one transaction, for which all other writes wait. */
const FORGOTTEN_AT_ONCE = 12;

/**
 * Deletes runs with their turns, events, questions and conversations. Then deletes squads and chats that nothing refers to any
 * more, and the reviews and limits of tasks without any run left: as long as a task has a run, its review rounds count. Open
 * reviews of a deleted coder are deleted at once, because nobody could close them.
 */
async function forgetRuns(trx: Transaction<Tables>, ids: RunId[]): Promise<void> {
  const runs = await trx
    .selectFrom('runs')
    .select(['squad_id', 'chat_id', 'lineage_id'])
    .where('id', 'in', ids)
    .execute();
  const held = await trx.selectFrom('chats').select('id').where('run_id', 'in', ids).execute();

  await trx.deleteFrom('events').where('run_id', 'in', ids).execute();
  await trx.deleteFrom('turns').where('run_id', 'in', ids).execute();
  await trx.deleteFrom('inbox').where('run_id', 'in', ids).execute();
  await trx.deleteFrom('messages').where('run_id', 'in', ids).execute();
  await trx.deleteFrom('sent_lines').where('run_id', 'in', ids).execute();
  await trx.deleteFrom('conversations').where('run_id', 'in', ids).execute();
  await trx.deleteFrom('reviews').where('coder_id', 'in', ids).where('outcome', 'is', null).execute();
  await trx.deleteFrom('runs').where('id', 'in', ids).execute();
  await trx.updateTable('chats').set({ run_id: null }).where('run_id', 'in', ids).execute();
  const squads = await withoutRuns(
    trx,
    'squad_id',
    runs.map(run => run.squad_id),
  );
  await trx.deleteFrom('events').where('squad_id', 'in', squads).execute();
  await trx.deleteFrom('squads').where('id', 'in', squads).execute();
  const chats = await withoutRuns(trx, 'chat_id', [
    ...runs.map(run => run.chat_id),
    ...held.map(chat => chat.id),
  ]);
  await trx.deleteFrom('chats').where('id', 'in', chats).where('run_id', 'is', null).execute();
  const lineages = await withoutRuns(
    trx,
    'lineage_id',
    runs.map(run => run.lineage_id),
  );
  await trx.deleteFrom('reviews').where('lineage_id', 'in', lineages).execute();
  await trx.deleteFrom('review_limits').where('lineage_id', 'in', lineages).execute();
}

/** Finds squads and chats that no run refers to any more. */
async function withoutRuns<Column extends 'squad_id' | 'chat_id' | 'lineage_id', Id extends string>(
  trx: Transaction<Tables>,
  column: Column,
  ids: readonly (Id | null)[],
): Promise<Id[]> {
  const gone = new Set(ids.filter(id => id !== null));
  const ref = trx.dynamic.ref<'squad_id'>(column);
  const rows = await trx
    .selectFrom('runs')
    .select(ref)
    .distinct()
    .where(ref, 'in', [...gone] as never[])
    .execute();
  for (const row of rows) gone.delete((row as Record<string, unknown>)[column] as Id);
  return [...gone];
}

/**
 * Maximum time of consecutive reads before the event loop gets a turn: reads are synchronous, even if they are awaited.
 */
const MAX_HOLD_MS = 8;
/** Number of rows that can be read with their JSON in a few milliseconds. */
const RUNS_AT_ONCE = 100;
/** Maximum number of events that one statement reads to find those of a type. */
const EVENTS_AT_ONCE = 20_000;
/**
 * Length of the periods in which failed runs are counted. One statement can read the runs that failed in one period.
 */
const FAILED_SLICE_MS = 6 * 3_600_000;
/** Length from which a prefix matches only a few ids, however many there are. */
const FEW_LETTERS = 3;

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

/** Implements the store ports on a database whose migrations have been applied. */
export function storeOn(backend: Backend, retryMs: number): Store & PinStore & MessageStore {
  const writer = new Writer(backend, retryMs);
  const reading = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;

  let heldSince: number | null = null;

  /** Lets other requests run first. Undefined if the caller need not wait. */
  function othersFirst(): Promise<void> | undefined {
    const now = performance.now();
    if (heldSince === null) {
      heldSince = now;
      setImmediate(() => {
        heldSince = null;
      });
    } else if (now - heldSince > MAX_HOLD_MS) return immediate();
    return undefined;
  }

  function read<T>(query: (db: Kysely<Tables>) => Promise<T>, from = () => backend.db): Promise<T> {
    if (closing) return Promise.reject(closed());
    const result = withRetry(
      async () => {
        await othersFirst();
        return query(from());
      },
      {
        failureOf: thrown => backend.failureOf(thrown),
        waitOut: ['locked'],
        windowMs: retryMs,
      },
    ).finally(() => reading.delete(result));
    reading.add(result);
    return result;
  }

  /** Connection for statements that read many rows. */
  const report = <T>(query: (db: Kysely<Tables>) => Promise<T>): Promise<T> => read(query, backend.reports);

  function write(apply: (trx: Transaction<Tables>) => Promise<void>, isAlone = false): Promise<void> {
    return writer.add({ apply, events: [], mayWait: false, isAlone });
  }

  function commit(change: Change): Promise<void> {
    try {
      const rows = toRows(change);
      const { admission } = change;
      const apply = async (trx: Transaction<Tables>) => {
        if (admission) await backend.admit?.(trx, admission);
        await putRows(trx, rows);
      };
      return writer.add({ apply, rows: rows.events, events: change.events, mayWait: isOnlyActivity(change) });
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
    const apply = (trx: Transaction<Tables>) => talk.putMessages(trx, rows, ofRuns);
    await writer.add({ apply, events: [], mayWait: true });
  }

  async function runs(filter: RunFilter): Promise<Run[]> {
    if (filter.limit <= RUNS_AT_ONCE && !filter.status) return read(db => queries.runs(db, filter));
    const ids = await read(db => queries.runIds(db, filter));
    const found: Run[] = [];
    for (let at = 0; at < ids.length; at += RUNS_AT_ONCE)
      found.push(...(await read(db => queries.runsById(db, ids.slice(at, at + RUNS_AT_ONCE)))));
    return found;
  }

  /** Slices of time, newest first. */
  async function* slices(since = 0, until = Number.MAX_SAFE_INTEGER): AsyncGenerator<queries.Slice> {
    for (let to = until; ; ) {
      const { isLast, ...slice } = await report(db => queries.sliceBefore(db, to, since));
      yield slice;
      if (isLast) return;
      to = slice.from;
    }
  }

  async function* figures({ squadId, since, until, ...filter }: FiguresFilter): AsyncGenerator<RunSums[]> {
    if (squadId !== undefined) yield await report(db => queries.figures(db, { squadId }));
    else
      for await (const slice of slices(since, until))
        yield await report(db => queries.figures(db, { ...filter, ...slice }));
  }

  async function dearestSquads(
    { since, until, ...filter }: Omit<FiguresFilter, 'squadId'>,
    limit: number,
  ): Promise<SquadId[]> {
    let dearest: queries.SquadSum[] = [];
    for await (const slice of slices(since, until)) {
      const found = await report(db => queries.dearestSquads(db, { ...filter, ...slice }, limit));
      dearest = [...dearest, ...found].sort((a, b) => b.cost - a.cost || b.runs - a.runs).slice(0, limit);
    }
    return dearest.map(({ id }) => id);
  }

  async function endedRuns(filter: EndedFilter): Promise<Run[]> {
    if (board.isQuick(filter)) return read(db => board.endedRuns(db, filter));
    if (filter.part === 'failed') return report(db => board.endedRuns(db, filter));
    const found: Run[] = [];
    for await (const slice of slices(0, filter.after && filter.after.createdAt + 1)) {
      const left = { ...filter, limit: filter.limit - found.length };
      found.push(...(await report(db => board.endedRuns(db, left, slice))));
      if (found.length >= filter.limit) break;
    }
    return found;
  }

  async function countEnded(filter: BoardFilter, at: number): Promise<{ failed: number; done: number }> {
    let [ended, failed] = [0, 0];
    if (board.isQuick(filter)) ended = await read(db => board.countEnded(db, filter));
    else for await (const slice of slices()) ended += await report(db => board.countEnded(db, filter, slice));
    // After a clock was set back, failures may have a time in the future.
    for (let from = at - FAILURE_COUNTS_MS; from <= at; from += FAILED_SLICE_MS) {
      const to = from + FAILED_SLICE_MS > at ? Number.MAX_SAFE_INTEGER : from + FAILED_SLICE_MS;
      failed += await read(db => board.countFailed(db, filter, at, { from, to }));
    }
    return { failed, done: ended - failed };
  }

  async function events(filter: EventFilter): Promise<Event[]> {
    const {
      types,
      workspace,
      runId,
      squadId,
      after = 0,
      before = Number.MAX_SAFE_INTEGER,
      limit,
      reverse,
    } = filter;
    const mayScanAll = types !== undefined || workspace !== undefined;
    if (!mayScanAll || runId !== undefined || squadId !== undefined)
      return read(db => queries.events(db, filter));
    const { first, last } = await read(queries.eventRange);
    const [from, to] = [Math.max(after, first - 1), Math.min(before, last + 1)];
    const found: Event[] = [];
    for (let done = 0; from + done < to - 1 && found.length < limit; done += EVENTS_AT_ONCE) {
      const part = reverse
        ? { before: to - done, after: Math.max(from, to - done - EVENTS_AT_ONCE - 1) }
        : { after: from + done, before: Math.min(to, from + done + EVENTS_AT_ONCE + 1) };
      const left = { ...filter, ...part, limit: limit - found.length };
      found.push(...(await report(db => queries.events(db, left))));
    }
    return found;
  }

  async function forget(runIds: RunId[]): Promise<void> {
    for (let at = 0; at < runIds.length; at += FORGOTTEN_AT_ONCE)
      await write(trx => forgetRuns(trx, runIds.slice(at, at + FORGOTTEN_AT_ONCE)), true);
  }

  const shared =
    backend.onNotice &&
    new SharedEvents({
      last: () => read(board.lastEvent),
      after: (after, limit) => read(db => queries.events(db, { after, limit })),
      onNew: look => {
        const stops = [
          writer.onEvents(look),
          backend.onNotice!(notice => {
            if (notice === 'events') look();
          }),
        ];
        return () => {
          for (const stop of stops) stop();
        };
      },
    });

  async function close(): Promise<void> {
    shared?.close();
    await writer.close();
    await Promise.allSettled(reading);
    await backend.close();
  }

  return {
    hubLeases: backend.leases ?? null,
    commit,
    setSetting: (key, value) => write(trx => putSetting(trx, storedKey(key, backend.hub), value)),
    savePins,
    saveMessages,
    closeConversation: conversation => {
      const row = conversationToRow(conversation, true);
      return write(trx => talk.closeConversation(trx, row));
    },
    forget,
    onEvents: listener => writer.onEvents(listener),
    follow: async listener => (shared ? shared.follow(listener) : writer.onEvents(listener)),
    flush: () => writer.flush(),
    close: () => {
      closing ??= close();
      return closing;
    },

    squad: id => read(db => queries.squad(db, id)),
    run: id => read(db => queries.run(db, id)),
    runs,
    otherOwner: async id => (backend.otherOwner ? read(() => backend.otherOwner!(id)) : null),
    requestStop: (id, by) =>
      write(async trx => {
        await trx
          .insertInto('stop_requests')
          .values({ run_id: id, asked_by: by, at: Date.now() })
          .onConflict(conflict => conflict.column('run_id').doNothing())
          .execute();
      }),
    stopRequests: async () => (backend.hub === null ? [] : read(queries.stopRequests)),
    saveRunningCost: async usd => {
      const { hub } = backend;
      if (hub === null) return;
      const row = { cost_usd: usd, at: Date.now() };
      await write(async trx => {
        await trx
          .insertInto('running_costs')
          .values({ hub, ...row })
          .onConflict(conflict => conflict.column('hub').doUpdateSet(row))
          .execute();
      });
    },
    runningCostElsewhere: async since => {
      const { hub } = backend;
      if (hub === null) return 0;
      const row = await read(db =>
        db
          .selectFrom('running_costs')
          .select(({ fn }) => fn.sum<number>('cost_usd').as('usd'))
          .where('hub', '<>', hub)
          .where('at', '>=', since)
          .executeTakeFirst(),
      );
      return row?.usd ?? 0;
    },
    saveAnswer: async (id, answer) => {
      if (backend.hub === null) return;
      await write(async trx => {
        await trx.deleteFrom('answers').where('run_id', '=', id).execute();
        if (answer !== null) await trx.insertInto('answers').values({ run_id: id, answer }).execute();
      });
    },
    answer: async id => {
      if (backend.hub === null) return null;
      const query = (db: Kysely<Tables>) =>
        db.selectFrom('answers').select('answer').where('run_id', '=', id);
      return (await read(db => query(db).executeTakeFirst()))?.answer ?? null;
    },
    hubsOf: async ids => (ids.length > 0 && backend.hubsOf ? read(() => backend.hubsOf!(ids)) : new Map()),
    hubCalls: backend.calls ?? null,
    onOtherHub: listener => backend.onNotice?.(listener) ?? (() => {}),
    listHubs: async () => (backend.listHubs ? read(() => backend.listHubs!()) : []),
    reportHubs: async () => (backend.reportHubs ? read(() => backend.reportHubs!()) : null),
    answerHubs: facts => backend.answerHubs?.(facts),
    liveRuns: () => read(db => queries.liveRuns(db)),
    liveElsewhere: async () => (backend.hub === null ? [] : read(queries.liveElsewhere)),
    runsAskedToStop: () => read(queries.runsAskedToStop),
    turns: runId => read(db => queries.turns(db, runId)),
    chat: id => read(db => queries.chat(db, id)),
    review: id => read(db => review(db, id)),
    reviews: filter => read(db => reviews(db, filter)),
    reviewedLineages: () => read(reviewedLineages),
    reviewLimit: lineageId => read(db => reviewLimit(db, lineageId)),
    inboxItem: id => read(db => inboxItem(db, id)),
    inboxItems: filter => read(db => inboxItems(db, filter)),
    lastSentLine: turn => read(db => queries.lastSentLine(db, turn)),
    intents: () => read(intents),
    events,
    spent: filter => read(db => queries.spent(db, filter)),
    figures,
    dearestSquads,
    settings: () => read(db => queries.settings(db, backend.hub)),
    endedRuns,
    countEnded,
    liveIds: filter => read(db => board.liveIds(db, filter)),
    leftWithError: (filter, at) => read(db => board.leftWithError(db, filter, at)),
    takenUp: ids => read(db => board.resumedRuns(db, ids)),
    continuedInTree: ids => read(db => board.continuedInTree(db, ids)),
    squadsOfSeveral: ids => read(db => board.squadsOfSeveral(db, ids)),
    squadsOfBacklog: workspace => read(db => board.squadsOfBacklog(db, workspace)),
    spending: since => read(db => queries.spending(db, since)),
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
    countEndedBefore: before => report(db => queries.countEndedBefore(db, before)),
    endedBefore: (before, limit) => read(db => queries.endedBefore(db, before, limit)),
    idsLike: (prefix, limit) =>
      (/[0-9a-z]*$/.exec(prefix)![0].length < FEW_LETTERS ? report : read)(db => idsLike(db, prefix, limit)),
    recentIds: limit => read(db => recentIds(db, limit)),
  };
}

/** Activity of an agent: nobody waits for this write. */
const isOnlyActivity = ({ events, admission, ...rows }: Change): boolean =>
  events.length > 0 &&
  admission === undefined &&
  Object.values(rows).every(some => !some?.length) &&
  events.every(event => event.body.type === 'run.activity');
