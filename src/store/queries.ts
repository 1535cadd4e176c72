import { type Kysely, sql } from 'kysely';
import type { RunFigures } from '../core/cost/usage.ts';
import type { EventFilter, RunFilter } from '../core/ports/store.ts';
import type { Event } from '../schema/event.ts';
import type { RunId, SquadId } from '../schema/ids.ts';
import { type Chat, isEnd, type Run, RunStatus, type Squad, type Turn, Usage } from '../schema/run.ts';
import { fromJson, rowToChat, rowToEvent, rowToRun, rowToSquad, rowToTurn } from './rows.ts';
import type { Tables } from './tables.ts';

export const LIVE = RunStatus.options.filter(status => !isEnd(status));

/** Name of the subagent, for a run that is a call of one. */
export const subagentColumn = sql<string | null>`json_extract(runs.options, '$.subagent')`;

type Db = Kysely<Tables>;

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

export async function figures(
  db: Db,
  { workspace, since, limit }: { workspace?: string; since?: number; limit: number },
): Promise<RunFigures[]> {
  let query = db
    .selectFrom('runs')
    .select([...FIGURES, subagentColumn.as('subagent')])
    .limit(limit);
  if (workspace !== undefined) query = query.where('workspace', '=', workspace);
  if (since !== undefined) query = query.where('created_at', '>=', since);
  return (await query.orderBy('created_at', 'desc').execute()).map(row => ({
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
