import {
  type ExpressionBuilder,
  type Kysely,
  type RawBuilder,
  type SqlBool,
  SqliteAdapter,
  sql,
} from 'kysely';
import type { RunSums } from '../core/cost/usage.ts';
import type {
  BoardStore,
  EventFilter,
  InboxFilter,
  ReviewFilter,
  RunFilter,
  SentLine,
} from '../core/ports/store.ts';
import type { TurnRef } from '../core/ports/turns.ts';
import type { Event } from '../schema/event.ts';
import type { InboxId, ReviewId, RunId, SquadId } from '../schema/ids.ts';
import type { InboxItem } from '../schema/inbox.ts';
import { Intent, type Review } from '../schema/review.ts';
import { type Chat, isEnd, type Run, RunStatus, type Squad, type Turn } from '../schema/run.ts';
import { ofThisHub } from './postgres/schema.ts';
import {
  fromJson,
  type IntentRow,
  type RunRow,
  rowToChat,
  rowToEvent,
  rowToItem,
  rowToReview,
  rowToRun,
  rowToSquad,
  rowToTurn,
  type Tables,
} from './tables.ts';

export const LIVE = RunStatus.options.filter(status => !isEnd(status));

export type Db = Kysely<Tables>;

export const isSqlite = (db: Db): boolean => db.getExecutor().adapter instanceof SqliteAdapter;

/** Condition for rows of this hub. All rows of a SQLite database are of its only hub. */
export const isOwn = (db: Db, table: 'runs' | 'inbox' | 'reviews' | 'intents'): RawBuilder<SqlBool> =>
  isSqlite(db) ? sql`true` : sql.raw(ofThisHub(table));

/** Makes SQLite use this index, because SQLite would choose a slower one. PostgreSQL chooses by its statistics. */
export const indexedBy = (db: Db, index: string): RawBuilder<unknown> =>
  isSqlite(db) ? sql.raw(`indexed by ${index}`) : sql``;

export async function squad(db: Db, id: SquadId): Promise<Squad | null> {
  const row = await db.selectFrom('squads').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? rowToSquad(row) : null;
}

export async function run(db: Db, id: RunId): Promise<Run | null> {
  const row = await db.selectFrom('runs').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? rowToRun(row) : null;
}

/** Reads runs with all columns, for a small number of runs. */
export async function runs(db: Db, filter: RunFilter): Promise<Run[]> {
  return (await runsIn(db, filter).selectAll().execute()).map(rowToRun);
}

/** Ids of runs in list order. `runsById` reads the rows. */
export async function runIds(db: Db, filter: RunFilter): Promise<RunId[]> {
  const { status, squadId, parentId, lineageId, hasWorktree, limit } = filter;
  if (status?.length === 0) return [];
  const isOfFew = [squadId, parentId, lineageId, hasWorktree].some(given => given !== undefined);
  if (!status || isOfFew) return (await runsIn(db, filter).execute()).map(({ id }) => id);
  // One query per status: an index has the runs of each status in order, and a query for several would have to sort
  // them.
  const found: Pick<RunRow, 'id' | 'created_at'>[] = [];
  for (const each of status) found.push(...(await runsIn(db, { ...filter, status: [each] }).execute()));
  return newest(found, limit);
}

function runsIn(db: Db, filter: RunFilter) {
  let query = db.selectFrom('runs').select(['id', 'created_at']).limit(filter.limit);
  if (filter.workspace !== undefined) query = query.where('workspace', '=', filter.workspace);
  if (filter.parentId !== undefined) query = query.where('parent_id', '=', filter.parentId);
  if (filter.status) query = query.where('status', 'in', filter.status);
  if (filter.lineageId !== undefined) query = query.where('lineage_id', '=', filter.lineageId);
  if (filter.hasWorktree) query = query.where('worktree', 'is not', null).where(isOwn(db, 'runs'));
  if (filter.before !== undefined) query = query.where('created_at', '<', filter.before);
  return filter.squadId === undefined
    ? query.orderBy('created_at', 'desc').orderBy('id')
    : query.where('squad_id', '=', filter.squadId).orderBy('position');
}

/** Runs in the order of the ids. Runs that no longer exist are left out. */
export async function runsById(db: Db, ids: readonly RunId[]): Promise<Run[]> {
  const rows = await db.selectFrom('runs').selectAll().where('id', 'in', ids).execute();
  const found = new Map(rows.map(row => [row.id, row]));
  return ids.flatMap(id => {
    const row = found.get(id);
    return row ? [rowToRun(row)] : [];
  });
}

export async function liveRuns(db: Db, ofHub = isOwn(db, 'runs')): Promise<Run[]> {
  const query = db.selectFrom('runs').selectAll().where('status', 'in', LIVE).where(ofHub);
  // Members of a squad have the same creation time; they wait and start in the order of the request.
  const inOrder = query.orderBy('created_at').orderBy('squad_id').orderBy('position');
  return (await inOrder.execute()).map(rowToRun);
}

export const liveElsewhere = (db: Db): Promise<Run[]> => liveRuns(db, sql`not ${isOwn(db, 'runs')}`);

export async function runsAskedToStop(db: Db): Promise<Set<RunId>> {
  const rows = await db
    .selectFrom('runs')
    .innerJoin('events', 'events.run_id', 'runs.id')
    .select('runs.id')
    .distinct()
    .where('runs.status', 'in', LIVE)
    .where('events.type', '=', 'run.stopping')
    .where(isOwn(db, 'runs'))
    .execute();
  return new Set(rows.map(({ id }) => id));
}

export async function stopRequests(db: Db): Promise<{ runId: RunId; by: string }[]> {
  const rows = await db
    .selectFrom('stop_requests')
    .innerJoin('runs', 'runs.id', 'stop_requests.run_id')
    .select(['run_id', 'asked_by'])
    .where('runs.status', 'in', LIVE)
    .where(isOwn(db, 'runs'))
    .execute();
  return rows.map(row => ({ runId: row.run_id, by: row.asked_by }));
}

export async function endedSince(db: Db, since: number, limit: number): Promise<Run[]> {
  const query = db.selectFrom('runs').selectAll().where('ended_at', '>=', since);
  return (await query.orderBy('ended_at').orderBy('id').limit(limit).execute()).map(rowToRun);
}

export async function countEndedBefore(db: Db, before: number): Promise<number> {
  const query = db.selectFrom('runs').select(({ fn }) => fn.countAll<number>().as('count'));
  const own = query.where('ended_at', '<', before).where(isOwn(db, 'runs'));
  return Number((await own.executeTakeFirstOrThrow()).count);
}

export async function endedBefore(db: Db, before: number, limit: number): Promise<Run[]> {
  const query = db.selectFrom('runs').selectAll().where('ended_at', '<', before).where(isOwn(db, 'runs'));
  return (await query.orderBy('ended_at').orderBy('id').limit(limit).execute()).map(rowToRun);
}

export async function turns(db: Db, runId: RunId): Promise<Turn[]> {
  const query = db.selectFrom('turns').selectAll().where('run_id', '=', runId);
  return (await query.orderBy('number').execute()).map(rowToTurn);
}

export async function chat(db: Db, id: string): Promise<Chat | null> {
  const row = await db.selectFrom('chats').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? rowToChat(row) : null;
}

/** Numbers of the first and the last event. */
export async function eventRange(db: Db): Promise<{ first: number; last: number }> {
  // The two numbers are separate queries, because one query for both would read all rows.
  const { rows } = await sql<{ first: number | null; last: number | null }>`
    select (select min(seq) from events) as first, (select max(seq) from events) as last`.execute(db);
  return { first: rows[0]?.first ?? 0, last: rows[0]?.last ?? 0 };
}

export async function events(db: Db, filter: EventFilter): Promise<Event[]> {
  if (filter.types?.length === 0) return [];
  let query = db.selectFrom('events').selectAll().limit(filter.limit);
  if (filter.after !== undefined) query = query.where('seq', '>', filter.after);
  if (filter.before !== undefined) query = query.where('seq', '<', filter.before);
  if (filter.runId !== undefined) query = query.where('run_id', '=', filter.runId);
  if (filter.squadId !== undefined) query = query.where('squad_id', '=', filter.squadId);
  if (filter.types) query = query.where('type', 'in', filter.types);
  const { workspace } = filter;
  // Events do not name a workspace: their runs and squads do.
  if (workspace !== undefined)
    query = query.where(
      sql<boolean>`coalesce(
        (select workspace from runs where runs.id = events.run_id),
        (select workspace from squads where squads.id = events.squad_id and events.run_id is null),
        case when events.run_id is null and events.squad_id is null then ${workspace} end) = ${workspace}`,
    );
  return (await query.orderBy('seq', filter.reverse ? 'desc' : 'asc').execute()).map(rowToEvent);
}

/** Sums are grouped by quarter of an hour, because in every time zone a day begins with a whole quarter. */
const quarterOf = (at: number): number => Math.floor(at / 900_000);

export async function spent(
  db: Db,
  filter: { since?: number; until?: number; squadId?: SquadId },
): Promise<number> {
  const { since = 0, until = Number.MAX_SAFE_INTEGER, squadId } = filter;
  const sum = ({ fn }: { fn: ExpressionBuilder<Tables, 'runs' | 'spending'>['fn'] }) =>
    fn.sum<number | null>('cost_usd').as('sum');
  const found =
    squadId === undefined
      ? await db
          .selectFrom('spending')
          .select(sum)
          .where('quarter', '>=', quarterOf(since))
          .where('quarter', '<=', quarterOf(until))
          .executeTakeFirst()
      : await db.selectFrom('runs').select(sum).where('squad_id', '=', squadId).executeTakeFirst();
  return Number(found?.sum ?? 0);
}

export async function spending(db: Db, since: number): ReturnType<BoardStore['spending']> {
  const { cost, reported, estimated, unreported } = await db
    .selectFrom('spending')
    .select(({ fn }) => [
      fn.sum<number | null>('cost_usd').as('cost'),
      fn.sum<number | null>('reported').as('reported'),
      fn.sum<number | null>('estimated').as('estimated'),
      fn.sum<number | null>('unreported').as('unreported'),
    ])
    .where('quarter', '>=', quarterOf(since))
    .where('is_ended', '=', 1)
    .executeTakeFirstOrThrow();
  return {
    costUsd: Number(reported ?? 0) === 0 ? null : Number(cost),
    isEstimated: Number(estimated ?? 0) > 0,
    unreported: Number(unreported ?? 0),
  };
}

/** Runs created from `from` until before `to`. */
export interface Slice {
  from: number;
  to: number;
}

/** Maximum number of rows that one statement reads, which takes about ten milliseconds. */
const SLICE_RUNS = 5_000;

/**
 * Selects the newest runs before `to`, as many as one statement may read. Also includes all runs with the same creation
 * time as the oldest of them.
 */
export async function sliceBefore(db: Db, to: number, since: number): Promise<Slice & { isLast: boolean }> {
  const found = await sql<{ created_at: number }>`
    select created_at from runs ${indexedBy(db, 'runs_figures')} where created_at >= ${since} and created_at < ${to}
    order by created_at desc limit 1 offset ${SLICE_RUNS}`.execute(db);
  const from = found.rows[0]?.created_at;
  return { from: from ?? since, to, isLast: from === undefined };
}

const IS_LIVE = sql`status in (${sql.join(LIVE.map(status => sql.lit(status)))})`;

interface SumsRow {
  id: RunId | null;
  role_id: string | null;
  subagent: string | null;
  engine: string;
  model: string | null;
  workspace: string;
  status: Run['status'];
  unpriced: string | null;
  runs: number;
  cost: number | null;
  input: number | null;
  output: number | null;
  estimated: number | null;
  unreported: number;
  without_usage: number;
  ran_ms: number | null;
  started_at: number | null;
}

export async function figures(
  db: Db,
  runs: { squadId: SquadId } | ({ workspace?: string } & Slice),
): Promise<RunSums[]> {
  const { rows } = await sql<SumsRow>`
    select case when ${IS_LIVE} then id end as id, role_id, subagent, engine, model, workspace, status,
      case when not ${IS_LIVE} and started_at is not null and cost_usd is null and input_tokens is not null then model end as unpriced,
      count(*) as runs, sum(cost_usd) as cost, sum(input_tokens) as input, sum(output_tokens) as output, max(cost_is_estimated) as estimated,
      count(*) filter (where not ${IS_LIVE} and started_at is not null and cost_usd is null) as unreported,
      count(*) filter (where not ${IS_LIVE} and cost_is_estimated is null) as without_usage,
      sum(ended_at - started_at) as ran_ms, max(case when ${IS_LIVE} then started_at end) as started_at
    from runs ${'squadId' in runs ? sql`where squad_id = ${runs.squadId}` : inSlice(db, runs)}
    group by 1, 2, 3, 4, 5, 6, 7, 8`.execute(db);
  return rows.map(row => ({
    id: row.id,
    roleId: row.role_id,
    subagent: row.subagent,
    engine: row.engine,
    model: row.model,
    workspace: row.workspace,
    status: row.status,
    unpricedModel: row.unpriced,
    runs: row.runs,
    costUsd: row.cost,
    input: row.input,
    output: row.output,
    isEstimated: row.estimated === 1,
    unreported: row.unreported,
    withoutUsage: row.without_usage,
    ranMs: row.ran_ms,
    startedAt: row.started_at,
  }));
}

export interface SquadSum {
  id: SquadId;
  cost: number;
  runs: number;
}

/** Runs of one squad have the same creation time, so a slice contains all of them. */
export async function dearestSquads(
  db: Db,
  runs: { workspace?: string } & Slice,
  limit: number,
): Promise<SquadSum[]> {
  const { rows } = await sql<SquadSum>`
    select squad_id as id, coalesce(sum(cost_usd), -1) as cost, count(*) as runs from runs ${inSlice(db, runs)}
    group by squad_id order by cost desc, runs desc limit ${limit}`.execute(db);
  return rows;
}

const inSlice = (db: Db, { workspace, from, to }: { workspace?: string } & Slice) => sql`
  ${indexedBy(db, 'runs_figures')} where created_at >= ${from} and created_at < ${to}
  ${workspace === undefined ? sql`` : sql`and workspace = ${workspace}`}`;

/** Settings that hold for all hubs, and those of this hub. `storedKey` makes the keys. */
export async function settings(db: Db, hub: string | null): Promise<Record<string, string>> {
  const rows = await db.selectFrom('settings').selectAll().execute();
  const own = `${hub}/`;
  return Object.fromEntries(
    rows.flatMap(({ key, value }) => {
      if (hub === null || !key.includes('/')) return [[key, value]];
      return key.startsWith(own) ? [[key.slice(own.length), value]] : [];
    }),
  );
}

/** Upper bound of a prefix search: ids consist of digits and lower-case letters, and `{` follows `z`. */
export const AFTER_EVERY_LETTER = '{';

export async function idsLike(db: Db, prefix: string, limit: number): Promise<string[]> {
  const [, tag, letters] = /^(run_|squad_)?([0-9a-z]*)$/.exec(prefix) ?? [];
  if (letters === undefined) return [];
  const runs = tag === 'squad_' ? [] : await newestIn(db, 'runs', limit, `run_${letters}`);
  const squads = tag === 'run_' ? [] : await newestIn(db, 'squads', limit, `squad_${letters}`);
  return newest([...runs, ...squads], limit);
}

export async function recentIds(db: Db, limit: number): Promise<string[]> {
  return newest([...(await newestIn(db, 'runs', limit)), ...(await newestIn(db, 'squads', limit))], limit);
}

interface Found {
  id: string;
  created_at: number;
}

function newestIn(db: Db, table: 'runs' | 'squads', limit: number, prefix?: string): Promise<Found[]> {
  const id = db.dynamic.ref<'id'>('id');
  let query = db.selectFrom(table).select(['id', 'created_at']);
  if (prefix !== undefined) query = query.where(id, '>=', prefix).where(id, '<', prefix + AFTER_EVERY_LETTER);
  return query.orderBy('created_at', 'desc').orderBy('id').limit(limit).execute();
}

const newest = <T extends Found>(found: T[], limit: number): T['id'][] =>
  found
    .sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1))
    .slice(0, limit)
    .map(({ id }) => id);

export async function inboxItem(db: Db, id: InboxId): Promise<InboxItem | null> {
  const row = await db.selectFrom('inbox').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? rowToItem(row) : null;
}

export async function inboxItems(db: Db, filter: InboxFilter): Promise<InboxItem[]> {
  const { runId, state, isSettled, owner, idPrefix, hubs = 'own', limit } = filter;
  const id = db.dynamic.ref<'id'>('id');
  let query = db.selectFrom('inbox').selectAll().limit(limit);
  if (hubs === 'own') query = query.where(isOwn(db, 'inbox'));
  else if (hubs === 'other') query = query.where(sql<SqlBool>`not ${isOwn(db, 'inbox')}`);
  if (runId !== undefined) query = query.where('run_id', '=', runId);
  if (state !== undefined) query = query.where('state', '=', state);
  if (isSettled) query = query.where('state', '<>', 'open');
  if (owner !== undefined) query = query.where('owner', '=', owner);
  if (idPrefix !== undefined)
    query = query.where(id, '>=', idPrefix).where(id, '<', idPrefix + AFTER_EVERY_LETTER);
  return (await query.orderBy('created_at', 'desc').orderBy('id').execute()).map(rowToItem);
}

export async function lastSentLine(
  db: Db,
  { runId, number }: TurnRef,
): Promise<Pick<SentLine, 'offset' | 'line'> | null> {
  const query = db.selectFrom('sent_lines').select(['offset', 'line']);
  const ofTurn = query.where('run_id', '=', runId).where('turn', '=', number);
  return (await ofTurn.orderBy('offset', 'desc').limit(1).executeTakeFirst()) ?? null;
}

export function intentToRow({ id, kind, at, ...rest }: Intent): IntentRow {
  return { id, kind, at, data: JSON.stringify(rest) };
}

export const rowToIntent = ({ id, kind, at, data }: IntentRow): Intent =>
  fromJson(Intent, data, `intent ${id}`, { id, kind, at });

export async function review(db: Db, id: ReviewId): Promise<Review | null> {
  const row = await db.selectFrom('reviews').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? rowToReview(row) : null;
}

export async function reviews(db: Db, filter: ReviewFilter): Promise<Review[]> {
  const { lineageId, coderId, reviewerId, workspace, isOpen, limit } = filter;
  let query = db.selectFrom('reviews').selectAll().limit(limit);
  if (lineageId !== undefined) query = query.where('lineage_id', '=', lineageId);
  if (coderId !== undefined) query = query.where('coder_id', '=', coderId);
  if (reviewerId !== undefined) query = query.where('reviewer_id', '=', reviewerId);
  if (isOpen) query = query.where('outcome', 'is', null).where(isOwn(db, 'reviews'));
  if (workspace !== undefined)
    query = query.where(({ exists, selectFrom }) => {
      const coder = selectFrom('runs').select('runs.id').whereRef('runs.id', '=', 'reviews.coder_id');
      return exists(coder.where('runs.workspace', '=', workspace));
    });
  const inOrder = query.orderBy('requested_at').orderBy('iteration').orderBy('id');
  return (await inOrder.execute()).map(rowToReview);
}

export async function reviewedLineages(db: Db): Promise<RunId[]> {
  const rows = await db
    .selectFrom('runs')
    .select('lineage_id')
    .distinct()
    .where('status', 'in', LIVE)
    .where(isOwn(db, 'runs'))
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('reviews').select('reviews.id').whereRef('reviews.lineage_id', '=', 'runs.lineage_id'),
      ),
    )
    .execute();
  return rows.map(({ lineage_id }) => lineage_id);
}

export async function reviewLimit(db: Db, lineageId: RunId): Promise<number | null> {
  const query = db.selectFrom('review_limits').select('review_limit').where('lineage_id', '=', lineageId);
  return (await query.executeTakeFirst())?.review_limit ?? null;
}

export async function intents(db: Db): Promise<Intent[]> {
  const query = db.selectFrom('intents').selectAll().where(isOwn(db, 'intents'));
  const rows = await query.orderBy('at').orderBy('id').execute();
  return rows.map(rowToIntent);
}
