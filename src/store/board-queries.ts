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
import type { RunId, SquadId } from '../schema/ids.ts';
import type { Run, Squad, Turn } from '../schema/run.ts';
import { type Db, indexedBy, isOwn, isSqlite, LIVE, type Slice } from './queries.ts';
import { type RunRow, rowToRun, rowToSquad, rowToTurn, type SquadRow, type Tables } from './tables.ts';

type Runs = ExpressionBuilder<Tables, 'runs'>;

const RUNS = expressionBuilder<Tables, 'runs'>();
const FAILED_INDEX = 'runs_failed';

const MAX_SEARCH_TERMS = 16;
/** Number of values per statement, because SQLite limits it. */
const AT_ONCE = 500;

/** Ended runs, restricted to the slice if one is given. */
export async function endedRuns(db: Db, filter: EndedFilter, slice?: Slice): Promise<Run[]> {
  const { part, at, after, limit } = filter;
  const wanted = [...matching(db, RUNS, filter), inPart(RUNS, part, at)];
  if (after)
    wanted.push(
      RUNS('created_at', '<=', after.createdAt),
      RUNS.or([RUNS('created_at', '<', after.createdAt), RUNS('id', '>', after.id)]),
    );
  if (slice) wanted.push(RUNS('created_at', '>=', slice.from), RUNS('created_at', '<', slice.to));
  const index = slice
    ? indexedBy(db, 'runs_figures')
    : part === 'failed' && filter.squadId === undefined
      ? indexedBy(db, FAILED_INDEX)
      : sql``;
  // Selects ids first, because whole rows are too large to sort.
  const { rows } = await sql<RunRow>`
    select * from runs where id in (
      select id from runs ${index} where ${RUNS.and(wanted)} order by created_at desc, id limit ${limit})
    order by created_at desc, id`.execute(db);
  return rows.map(rowToRun);
}

/** Whether the query is fast: an index covers its runs, or only the first few are needed. */
export const isQuick = ({ squadId, q, part }: Partial<EndedFilter>): boolean =>
  squadId !== undefined || (!q?.trim() && part !== 'failed_ever');

/** Number of ended runs, restricted to the slice if one is given. */
export async function countEnded(db: Db, filter: BoardFilter, slice?: Slice): Promise<number> {
  const { workspace, squadId, q } = filter;
  if (squadId === undefined && !q?.trim()) {
    let query = db.selectFrom('run_counts').select(({ fn }) => fn.sum<number | null>('runs').as('count'));
    if (workspace !== undefined) query = query.where('workspace', '=', workspace);
    return Number((await query.where('status', 'not in', LIVE).executeTakeFirst())?.count ?? 0);
  }
  const wanted = [...matching(db, RUNS, filter), RUNS('status', 'not in', LIVE)];
  if (slice) wanted.push(RUNS('created_at', '>=', slice.from), RUNS('created_at', '<', slice.to));
  return count(db, slice ? indexedBy(db, 'runs_figures') : sql``, wanted);
}

/** Counts runs that failed from `from` until before `to`. */
export const countFailed = (db: Db, filter: BoardFilter, at: number, { from, to }: Slice): Promise<number> =>
  count(db, filter.squadId === undefined ? indexedBy(db, FAILED_INDEX) : sql``, [
    ...matching(db, RUNS, filter),
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
  const wanted = [...matching(db, RUNS, filter), RUNS.not(laterOfTask(RUNS))];
  const { rows } = await sql<RunRow>`
    select * from runs ${indexedBy(db, 'runs_left_with_error')}
    where status = 'completed' and error is not null and ended_at >= ${at - DECISION_COUNTS_MS} and ${RUNS.and(wanted)} and ${isOwn(db, 'runs')}
    order by created_at desc, id`.execute(db);
  return rows.map(rowToRun);
}

export async function liveIds(db: Db, filter: BoardFilter): Promise<Set<RunId>> {
  const query = db.selectFrom('runs').select('id').where('status', 'in', LIVE);
  const rows = await query.where(eb => eb.and(matching(db, eb, filter))).execute();
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

/** Finds runs that a later run of the same lineage continued in the same work tree. */
export async function continuedInTree(db: Db, ids: readonly RunId[]): Promise<Set<RunId>> {
  const pathOf = (row: string) =>
    isSqlite(db)
      ? sql`json_extract(${sql.ref(`${row}.worktree`)}, '$.path')`
      : sql`${sql.ref(`${row}.worktree`)}::json ->> 'path'`;
  const found = await inParts(ids, async some => {
    const { rows } = await sql<{ id: RunId }>`
      select id from runs where id in (${sql.join(some)}) and exists (
        select 1 from runs as later
        where later.lineage_id = runs.lineage_id and later.created_at >= runs.ended_at and later.id <> runs.id
          and ${pathOf('later')} = ${pathOf('runs')})`.execute(db);
    return rows;
  });
  return new Set(found.map(({ id }) => id));
}

export async function squadsOfSeveral(db: Db, ids: readonly SquadId[]): Promise<Squad[]> {
  const rows = await inParts(ids, some =>
    db
      .selectFrom('squads')
      .selectAll()
      .where('id', 'in', some)
      .where(eb =>
        eb.exists(
          eb
            .selectFrom('runs')
            .select('runs.id')
            .whereRef('runs.squad_id', '=', 'squads.id')
            .where('runs.position', '=', 1),
        ),
      )
      .execute(),
  );
  return rows.map(rowToSquad);
}

/** Maximum number of squads to read. Nobody starts as many from one backlog. */
const MAX_OF_BACKLOG = 2_000;

export async function squadsOfBacklog(db: Db, workspace: string): Promise<Squad[]> {
  const { rows } = await sql<SquadRow>`
    select * from squads ${indexedBy(db, 'squads_with_metadata')}
    where metadata is not null and workspace = ${workspace} and metadata like '%"backlog":%'
    order by created_at desc, id limit ${MAX_OF_BACKLOG}`.execute(db);
  return rows.map(rowToSquad);
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
  // The statuses are literals, because SQLite uses the partial index only for literals.
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

/** Selects a later run of the same task. Runs that were created while this one was running do not count. */
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

function matching(
  db: Db,
  eb: Runs,
  { workspace, squadId, hasWorktree, q = '' }: BoardFilter,
): Expression<SqlBool>[] {
  const terms = q
    .split(/\s+/)
    .filter(term => term !== '')
    .slice(0, MAX_SEARCH_TERMS);
  // `like` ignores the case of ASCII letters in SQLite. PostgreSQL needs `ilike`, with the collation "C".
  const like = isSqlite(db) ? sql`like` : sql`ilike`;
  return [
    ...(workspace === undefined ? [] : [eb('workspace', '=', workspace)]),
    ...(squadId === undefined ? [] : [eb('squad_id', '=', squadId)]),
    ...(hasWorktree ? [eb('worktree', 'is not', null), isOwn(db, 'runs')] : []),
    ...terms.map(term => {
      const pattern = `%${term.replace(/[\\%_]/g, '\\$&')}%`;
      return eb.or(SEARCHED.map(column => sql<SqlBool>`${column} ${like} ${pattern} escape '\\'`));
    }),
  ];
}

const SEARCHED = ['title', 'task', 'role_id', 'engine', 'model', 'id', 'subagent'].map(name =>
  sql.ref(`runs.${name}`),
);

async function inParts<T, Id extends string>(
  ids: readonly Id[],
  query: (some: readonly Id[]) => Promise<T[]>,
): Promise<T[]> {
  const found: T[] = [];
  for (let at = 0; at < ids.length; at += AT_ONCE) found.push(...(await query(ids.slice(at, at + AT_ONCE))));
  return found;
}
