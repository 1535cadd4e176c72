import { type Kysely, sql } from 'kysely';
import type { RunFigures } from '../core/cost/usage.ts';
import type { EventFilter, InboxFilter, ReviewFilter, RunFilter } from '../core/ports/store.ts';
import type { Event } from '../schema/event.ts';
import type { InboxId, ReviewId, RunId, SquadId } from '../schema/ids.ts';
import type { InboxItem } from '../schema/inbox.ts';
import { Intent, type Review } from '../schema/review.ts';
import { type Chat, isEnd, type Run, RunStatus, type Squad, type Turn, Usage } from '../schema/run.ts';
import {
  fromJson,
  type IntentRow,
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

/** Name of the subagent, for a run that is a call of one. */
export const subagentColumn = sql<string | null>`json_extract(runs.options, '$.subagent')`;

export type Db = Kysely<Tables>;

const FIGURES = [
  'id',
  'squad_id',
  'role_id',
  'model',
  'status',
  'usage',
  'created_at',
  'started_at',
  'ended_at',
] as const;

export async function squad(db: Db, id: SquadId): Promise<Squad | null> {
  const row = await db.selectFrom('squads').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? rowToSquad(row) : null;
}

export async function run(db: Db, id: RunId): Promise<Run | null> {
  const row = await db.selectFrom('runs').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? rowToRun(row) : null;
}

export async function runs(db: Db, filter: RunFilter): Promise<Run[]> {
  if (filter.status?.length === 0) return [];
  let query = db.selectFrom('runs').selectAll().limit(filter.limit);
  if (filter.workspace !== undefined) query = query.where('workspace', '=', filter.workspace);
  if (filter.parentId !== undefined) query = query.where('parent_id', '=', filter.parentId);
  if (filter.status) query = query.where('status', 'in', filter.status);
  if (filter.lineageId !== undefined) query = query.where('lineage_id', '=', filter.lineageId);
  if (filter.hasWorktree) query = query.where('worktree', 'is not', null);
  if (filter.before !== undefined) query = query.where('created_at', '<', filter.before);
  query =
    filter.squadId === undefined
      ? query.orderBy('created_at', 'desc').orderBy('id')
      : query.where('squad_id', '=', filter.squadId).orderBy('position');
  return (await query.execute()).map(rowToRun);
}

export async function liveRuns(db: Db): Promise<Run[]> {
  const query = db.selectFrom('runs').selectAll().where('status', 'in', LIVE);
  // Members of a squad have the same creation time. They wait and start in the order of the request.
  const inOrder = query.orderBy('created_at').orderBy('squad_id').orderBy('position');
  return (await inOrder.execute()).map(rowToRun);
}

export async function runsAskedToStop(db: Db): Promise<Set<RunId>> {
  const rows = await db
    .selectFrom('runs')
    .innerJoin('events', 'events.run_id', 'runs.id')
    .select('runs.id')
    .distinct()
    .where('runs.status', 'in', LIVE)
    .where('events.type', '=', 'run.stopping')
    .execute();
  return new Set(rows.map(({ id }) => id));
}

export async function endedSince(db: Db, since: number, limit: number): Promise<Run[]> {
  const query = db.selectFrom('runs').selectAll().where('ended_at', '>=', since);
  return (await query.orderBy('ended_at').orderBy('id').limit(limit).execute()).map(rowToRun);
}

export async function countEndedBefore(db: Db, before: number): Promise<number> {
  const query = db.selectFrom('runs').select(({ fn }) => fn.countAll<number>().as('count'));
  return Number((await query.where('ended_at', '<', before).executeTakeFirstOrThrow()).count);
}

export async function endedBefore(db: Db, before: number, limit: number): Promise<Run[]> {
  const query = db.selectFrom('runs').selectAll().where('ended_at', '<', before);
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

export async function events(db: Db, filter: EventFilter): Promise<Event[]> {
  if (filter.types?.length === 0) return [];
  let query = db.selectFrom('events').selectAll().limit(filter.limit);
  if (filter.after !== undefined) query = query.where('seq', '>', filter.after);
  if (filter.before !== undefined) query = query.where('seq', '<', filter.before);
  if (filter.runId !== undefined) query = query.where('run_id', '=', filter.runId);
  if (filter.squadId !== undefined) query = query.where('squad_id', '=', filter.squadId);
  if (filter.types) query = query.where('type', 'in', filter.types);
  return (await query.orderBy('seq', filter.reverse ? 'desc' : 'asc').execute()).map(rowToEvent);
}

export async function spent(
  db: Db,
  filter: { since?: number; until?: number; squadId?: SquadId },
): Promise<number> {
  let query = db.selectFrom('runs').select(({ fn }) => fn.sum<number | null>('cost_usd').as('sum'));
  if (filter.since !== undefined) query = query.where('created_at', '>=', filter.since);
  if (filter.until !== undefined) query = query.where('created_at', '<=', filter.until);
  if (filter.squadId !== undefined) query = query.where('squad_id', '=', filter.squadId);
  return Number((await query.executeTakeFirst())?.sum ?? 0);
}

/** A page of figures is read and parsed in about ten milliseconds. */
const FIGURES_PAGE = 1_000;

/** The page after this run, or the first one. */
export async function figures(
  db: Db,
  { workspace, since }: { workspace?: string; since?: number },
  after: Pick<RunFigures, 'createdAt' | 'id'> | undefined,
): Promise<RunFigures[]> {
  let query = db
    .selectFrom('runs')
    .select([...FIGURES, subagentColumn.as('subagent')])
    .limit(FIGURES_PAGE);
  if (workspace !== undefined) query = query.where('workspace', '=', workspace);
  if (since !== undefined) query = query.where('created_at', '>=', since);
  if (after !== undefined)
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('created_at', 'id'), '<', tuple(after.createdAt, after.id)),
    );
  return (await query.orderBy('created_at', 'desc').orderBy('id', 'desc').execute()).map(row => ({
    id: row.id,
    status: row.status,
    squadId: row.squad_id,
    roleId: row.role_id,
    subagent: row.subagent,
    model: row.model,
    usage: fromJson(Usage.nullable(), row.usage, `usage of ${row.id}`),
    createdAt: row.created_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  }));
}

export async function settings(db: Db): Promise<Record<string, string>> {
  const rows = await db.selectFrom('settings').selectAll().execute();
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
}

type Found = { id: string; created_at: number };

/** Ids consist of digits and lower-case letters, and `{` is the character after `z`. */
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

function newestIn(db: Db, table: 'runs' | 'squads', limit: number, prefix?: string): Promise<Found[]> {
  const id = db.dynamic.ref<'id'>('id');
  let query = db.selectFrom(table).select(['id', 'created_at']);
  if (prefix !== undefined) query = query.where(id, '>=', prefix).where(id, '<', prefix + AFTER_EVERY_LETTER);
  return query.orderBy('created_at', 'desc').orderBy('id').limit(limit).execute();
}

const newest = (found: Found[], limit: number): string[] =>
  found
    .sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1))
    .slice(0, limit)
    .map(({ id }) => id);

export async function inboxItem(db: Db, id: InboxId): Promise<InboxItem | null> {
  const row = await db.selectFrom('inbox').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? rowToItem(row) : null;
}

export async function inboxItems(db: Db, filter: InboxFilter): Promise<InboxItem[]> {
  const { runId, state, isSettled, owner, idPrefix, limit } = filter;
  const id = db.dynamic.ref<'id'>('id');
  let query = db.selectFrom('inbox').selectAll().limit(limit);
  if (runId !== undefined) query = query.where('run_id', '=', runId);
  if (state !== undefined) query = query.where('state', '=', state);
  if (isSettled) query = query.where('state', '<>', 'open');
  if (owner !== undefined) query = query.where('owner', '=', owner);
  if (idPrefix !== undefined)
    query = query.where(id, '>=', idPrefix).where(id, '<', idPrefix + AFTER_EVERY_LETTER);
  return (await query.orderBy('created_at', 'desc').orderBy('id').execute()).map(rowToItem);
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
  if (isOpen) query = query.where('outcome', 'is', null);
  if (workspace !== undefined)
    query = query.where(({ exists, selectFrom }) => {
      const coder = selectFrom('runs').select('runs.id').whereRef('runs.id', '=', 'reviews.coder_id');
      return exists(coder.where('runs.workspace', '=', workspace));
    });
  const inOrder = query.orderBy('requested_at').orderBy('iteration').orderBy('id');
  return (await inOrder.execute()).map(rowToReview);
}

export async function reviewedLineages(db: Db): Promise<RunId[]> {
  const query = db.selectFrom('runs').select('lineage_id').distinct().where('status', 'in', LIVE);
  const rows = await query
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
  const rows = await db.selectFrom('intents').selectAll().orderBy('at').orderBy('id').execute();
  return rows.map(rowToIntent);
}
