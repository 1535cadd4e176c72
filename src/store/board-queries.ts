import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { BoardFilter, BoardStore, EndedFilter } from '../core/ports/store.ts';
import { DECISION_COUNTS_MS, FAILURE_COUNTS_MS, FAILURES } from '../core/runs/board.ts';
import type { RunId } from '../schema/ids.ts';
import type { Run, Turn } from '../schema/run.ts';
import { type Db, LIVE, subagentColumn } from './queries.ts';
import { rowToRun, rowToTurn, type Tables } from './tables.ts';

type Runs = ExpressionBuilder<Tables, 'runs'>;

const MAX_SEARCH_TERMS = 16;
/** SQLite limits the number of values in one statement. */
const AT_ONCE = 500;

export async function endedRuns(db: Db, filter: EndedFilter): Promise<Run[]> {
  const { part, at, after, limit } = filter;
  let query = db
    .selectFrom('runs')
    .selectAll()
    .where(eb => eb.and([...matching(eb, filter), inPart(eb, part, at)]));
  if (after)
    query = query
      .where('created_at', '<=', after.createdAt)
      .where(eb => eb.or([eb('created_at', '<', after.createdAt), eb('id', '>', after.id)]));
  const newestFirst = query.orderBy('created_at', 'desc').orderBy('id').limit(limit);
  return (await newestFirst.execute()).map(rowToRun);
}

export async function countEnded(
  db: Db,
  filter: BoardFilter,
  at: number,
): Promise<{ failed: number; done: number }> {
  const count = (condition: (eb: Runs) => Expression<SqlBool>) =>
    db
      .selectFrom('runs')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where(eb => eb.and([...matching(eb, filter), condition(eb)]))
      .executeTakeFirstOrThrow();
  const ended = await count(eb => eb('status', 'not in', LIVE));
  const failed = await count(eb => inPart(eb, 'failed', at));
  return { failed: Number(failed.count), done: Number(ended.count) - Number(failed.count) };
}

export async function leftWithError(db: Db, filter: BoardFilter, at: number): Promise<Run[]> {
  const rows = await db
    .selectFrom('runs')
    .selectAll()
    .where('status', '=', 'completed')
    .where('ended_at', '>=', at - DECISION_COUNTS_MS)
    .where('error', 'is not', null)
    .where(eb => eb.and([...matching(eb, filter), eb.not(laterOfTask(eb))]))
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute();
  return rows.map(rowToRun);
}

export async function liveIds(db: Db, filter: BoardFilter): Promise<Set<RunId>> {
  const query = db.selectFrom('runs').select('id').where('status', 'in', LIVE);
  const rows = await query.where(eb => eb.and(matching(eb, filter))).execute();
  return new Set(rows.map(({ id }) => id));
}

export async function resumedRuns(db: Db, ids: readonly RunId[]): Promise<Set<RunId>> {
  const found = await inParts(ids, some =>
    db
      .selectFrom('runs')
      .select('id')
      .where('id', 'in', some)
      .where(eb => laterOfTask(eb))
      .execute(),
  );
  return new Set(found.map(({ id }) => id));
}

export async function spending(db: Db, since: number): ReturnType<BoardStore['spending']> {
  const isUnreported = sql<number>`case when started_at is not null and cost_usd is null then 1 else 0 end`;
  const isEstimated = sql<number>`case when cost_usd is not null then json_extract(usage, '$.costIsEstimated') end`;
  const query = db
    .selectFrom('runs')
    .select(({ fn }) => [
      fn.sum<number | null>('cost_usd').as('cost'),
      fn.max<number | null>(isEstimated).as('estimated'),
      fn.sum<number | null>(isUnreported).as('unreported'),
    ])
    .where('created_at', '>=', since)
    .where('ended_at', 'is not', null);
  const { cost, estimated, unreported } = await query.executeTakeFirstOrThrow();
  return {
    costUsd: cost === null ? null : Number(cost),
    isEstimated: Number(estimated ?? 0) === 1,
    unreported: Number(unreported ?? 0),
  };
}

export async function workspaces(db: Db): ReturnType<BoardStore['workspaces']> {
  const rows = await db
    .selectFrom('runs')
    .select(({ fn }) => [
      'workspace',
      fn.countAll<number>().as('runs'),
      fn.max<number>('created_at').as('last'),
    ])
    .groupBy('workspace')
    .orderBy('last', 'desc')
    .orderBy('workspace')
    .execute();
  return rows.map(({ workspace, runs, last }) => ({
    path: workspace,
    runs: Number(runs),
    lastRunAt: Number(last),
  }));
}

export async function turnsOf(db: Db, ids: readonly RunId[]): Promise<Turn[]> {
  const rows = await inParts(ids, some =>
    db
      .selectFrom('turns')
      .selectAll()
      .where('run_id', 'in', some)
      .orderBy('run_id')
      .orderBy('number')
      .execute(),
  );
  return rows.map(rowToTurn);
}

export async function lastEvent(db: Db): Promise<number> {
  const query = db.selectFrom('events').select(({ fn }) => fn.max<number | null>('seq').as('last'));
  return Number((await query.executeTakeFirst())?.last ?? 0);
}

function inPart(eb: Runs, part: EndedFilter['part'], at: number): Expression<SqlBool> {
  const isEnded = eb('ended_at', 'is not', null);
  const hasFailed = eb('status', 'in', [...FAILURES]);
  const isFresh = eb.and([hasFailed, eb('ended_at', '>=', at - FAILURE_COUNTS_MS)]);
  switch (part) {
    case 'failed':
      return eb.and([isFresh, eb.not(laterOfTask(eb, at))]);
    case 'done':
      return eb.and([isEnded, eb.or([eb.not(isFresh), laterOfTask(eb, at)])]);
    case 'failed_ever':
      return hasFailed;
    case 'never_failed':
      return eb.and([isEnded, eb.not(hasFailed)]);
  }
}

/** A later run of the same task. Runs that were created while this one was running do not count. */
function laterOfTask(eb: Runs, until?: number): Expression<SqlBool> {
  let later = eb
    .selectFrom('runs as later')
    .select('later.id')
    .whereRef('later.lineage_id', '=', 'runs.lineage_id')
    .whereRef('later.created_at', '>=', 'runs.ended_at')
    .whereRef('later.id', '!=', 'runs.id');
  if (until !== undefined) later = later.where('later.created_at', '<=', until);
  return eb.exists(later);
}

function matching(eb: Runs, { workspace, squadId, q = '' }: BoardFilter): Expression<SqlBool>[] {
  const terms = q
    .split(/\s+/)
    .filter(term => term !== '')
    .slice(0, MAX_SEARCH_TERMS);
  return [
    ...(workspace === undefined ? [] : [eb('workspace', '=', workspace)]),
    ...(squadId === undefined ? [] : [eb('squad_id', '=', squadId)]),
    ...terms.map(term => {
      const pattern = `%${term.replace(/[\\%_]/g, '\\$&')}%`;
      return eb.or(SEARCHED.map(column => sql<SqlBool>`${column} like ${pattern} escape '\\'`));
    }),
  ];
}

const SEARCHED = [
  ...['runs.title', 'runs.task', 'runs.role_id', 'runs.engine', 'runs.model', 'runs.id'].map(name =>
    sql.ref(name),
  ),
  subagentColumn,
];

async function inParts<T>(
  ids: readonly RunId[],
  query: (some: readonly RunId[]) => Promise<T[]>,
): Promise<T[]> {
  const found: T[] = [];
  for (let at = 0; at < ids.length; at += AT_ONCE) found.push(...(await query(ids.slice(at, at + AT_ONCE))));
  return found;
}
