import {
  type Expression,
  type ExpressionBuilder,
  expressionBuilder,
  type RawBuilder,
  type SqlBool,
  sql,
} from 'kysely';
import type { BoardFilter, BoardStore, EndedFilter } from '../core/ports/store.ts';
import { DECISION_COUNTS_MS, FAILURE_COUNTS_MS, FAILURES } from '../core/runs/board.ts';
import type { RunId } from '../schema/ids.ts';
import type { Run, Turn } from '../schema/run.ts';
import { type Db, LIVE, type Slice } from './queries.ts';
import { type RunRow, rowToRun, rowToTurn, type Tables } from './tables.ts';

type Runs = ExpressionBuilder<Tables, 'runs'>;

const RUNS = expressionBuilder<Tables, 'runs'>();
const FAILED_INDEX = sql`indexed by runs_failed`;

const MAX_SEARCH_TERMS = 16;
/** SQLite limits the number of values in one statement. */
const AT_ONCE = 500;

/** Restricts the query to the slice, if there is one. */
export async function endedRuns(db: Db, filter: EndedFilter, slice?: Slice): Promise<Run[]> {
  const { part, at, after, limit } = filter;
  const wanted = [...matching(RUNS, filter), inPart(RUNS, part, at)];
  if (after)
    wanted.push(
      RUNS('created_at', '<=', after.createdAt),
      RUNS.or([RUNS('created_at', '<', after.createdAt), RUNS('id', '>', after.id)]),
    );
  if (slice) wanted.push(RUNS('created_at', '>=', slice.from), RUNS('created_at', '<', slice.to));
  const index = slice
    ? sql`indexed by runs_figures`
    : part === 'failed' && filter.squadId === undefined
      ? FAILED_INDEX
      : sql``;
  // Selects ids first, because whole rows are too large to sort.
  const { rows } = await sql<RunRow>`
    select * from runs where id in (
      select id from runs ${index} where ${RUNS.and(wanted)} order by created_at desc, id limit ${limit})
    order by created_at desc, id`.execute(db);
  return rows.map(rowToRun);
}

/** True: an index has its runs, or the first few of them are enough. */
export const isQuick = ({ squadId, q, part }: Partial<EndedFilter>): boolean =>
  squadId !== undefined || (!q?.trim() && part !== 'failed_ever');

/** Restricted to the slice, if there is one. */
export async function countEnded(db: Db, filter: BoardFilter, slice?: Slice): Promise<number> {
  const { workspace, squadId, q } = filter;
  if (squadId === undefined && !q?.trim()) {
    let query = db.selectFrom('run_counts').select(({ fn }) => fn.sum<number | null>('runs').as('count'));
    if (workspace !== undefined) query = query.where('workspace', '=', workspace);
    return Number((await query.where('status', 'not in', LIVE).executeTakeFirst())?.count ?? 0);
  }
  const wanted = [...matching(RUNS, filter), RUNS('status', 'not in', LIVE)];
  if (slice) wanted.push(RUNS('created_at', '>=', slice.from), RUNS('created_at', '<', slice.to));
  return count(db, slice ? sql`indexed by runs_figures` : sql``, wanted);
}

/** Only runs that ended within this time count. */
export const countFailed = (db: Db, filter: BoardFilter, at: number, { from, to }: Slice): Promise<number> =>
  count(db, filter.squadId === undefined ? FAILED_INDEX : sql``, [
    ...matching(RUNS, filter),
    inPart(RUNS, 'failed', at),
    RUNS('ended_at', '>=', from),
    RUNS('ended_at', '<', to),
  ]);

async function count(db: Db, index: RawBuilder<unknown>, wanted: Expression<SqlBool>[]): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from runs ${index} where ${RUNS.and(wanted)}`.execute(db);
  return rows[0]!.count;
}

export async function leftWithError(db: Db, filter: BoardFilter, at: number): Promise<Run[]> {
  const wanted = [...matching(RUNS, filter), RUNS.not(laterOfTask(RUNS))];
  const { rows } = await sql<RunRow>`
    select * from runs indexed by runs_left_with_error
    where status = 'completed' and error is not null and ended_at >= ${at - DECISION_COUNTS_MS} and ${RUNS.and(wanted)}
    order by created_at desc, id`.execute(db);
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

export async function workspaces(db: Db): ReturnType<BoardStore['workspaces']> {
  const { rows } = await sql<{ path: string; runs: number; lastRunAt: number }>`
    select workspace as path, sum(runs) as runs,
      (select max(created_at) from runs where runs.workspace = run_counts.workspace) as "lastRunAt"
    from run_counts group by workspace order by 3 desc, 1`.execute(db);
  return rows;
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
  // A literal, because only then SQLite uses the partial index.
  const hasFailed = sql<SqlBool>`status in (${sql.join(FAILURES.map(status => sql.lit(status)))})`;
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

const SEARCHED = ['title', 'task', 'role_id', 'engine', 'model', 'id', 'subagent'].map(name =>
  sql.ref(`runs.${name}`),
);

async function inParts<T>(
  ids: readonly RunId[],
  query: (some: readonly RunId[]) => Promise<T[]>,
): Promise<T[]> {
  const found: T[] = [];
  for (let at = 0; at < ids.length; at += AT_ONCE) found.push(...(await query(ids.slice(at, at + AT_ONCE))));
  return found;
}
