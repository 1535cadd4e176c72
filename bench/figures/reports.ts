import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import BetterSqlite3 from 'better-sqlite3';
import { MIGRATIONS, statementsFor } from '../../src/store/migrations.ts';
import { eventToRow, runToRow, squadToRow, turnToRow } from '../../src/store/tables.ts';
import { BenchSquad } from '../bench-squad.ts';
import { type Figure, type Row, single } from '../figure.ts';
import { askHub } from '../hub-line.ts';
import { median, PAIRS, type Samples, timed } from '../measure.ts';
import type { Wait } from '../other-caller.ts';
import { canReadMemory, forgetPeak, memoryOf } from '../process-memory.ts';
import { finishedRun } from '../sample-runs.ts';

const RUNS = 1_000_000;
const DAYS = 31;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MAX_WAIT_MS = 50;
const MAX_RSS_MB = 200;
/** Fast reports are repeated until there are enough samples, or for this long. */
const ASKED_FOR_MS = 3_000;
const ALONE_MS = 500;
/** Number of runs to prune. Removing all of a million runs would take half an hour. */
const PRUNED_RUNS = 2_000;

/** Milliseconds since the end of this run. The first run is the newest. */
const ageOf = (run: number): number => HOUR_MS + (run / RUNS) * DAYS * DAY_MS;

/** Reports over all runs. Another client sends small requests meanwhile. */
const REPORTS: [string, string, object][] = [
  ['cost of 31 days', 'cost_report', { days: DAYS }],
  ['cost of 366 days, one workspace', 'cost_report', { days: 366, workspace: '/projects/3' }],
  ['prune, dry run', 'prune', { days: 0, dryRun: true }],
  ['search for a word that no run has', 'search_everything', { q: 'nowhere' }],
  ['search for a word that all runs have', 'search_everything', { q: 'upload' }],
  ['squad_status', 'squad_status', {}],
  ['the newest 1,000 runs', 'list_runs', { limit: 1000 }],
  [
    'the newest 1,000 failed runs of a workspace',
    'list_runs',
    { limit: 1000, status: ['error', 'timeout', 'lost'], workspace: '/projects/10' },
  ],
  ['the newest 1,000 events', 'list_events', { limit: 1000 }],
  ['events of a type that there is none of', 'list_events', { types: ['runs.pruned'] }],
  [
    'events from a day ago on',
    'follow_events',
    { after: Math.round(4 * RUNS * (1 - 1 / DAYS)), live: false },
  ],
  ['board', 'list_board', {}],
  ['board, everything that ever failed', 'list_board', { status: ['failed'], limit: 200 }],
  ['workspaces', 'list_workspaces', {}],
  [
    `prune of ${PRUNED_RUNS.toLocaleString('en')} runs`,
    'prune',
    { days: ageOf(RUNS - PRUNED_RUNS) / DAY_MS },
  ],
];

export const reports: Figure = {
  name: 'reports',
  title: `Reports over ${RUNS.toLocaleString('en')} runs: how long another caller waits`,
  async measure() {
    await using squad = new BenchSquad();
    await squad.hubPid();
    await squad.stopHub();
    fill(join(squad.home, 'squad.db'));
    const hub = await squad.hubPid();
    if (canReadMemory) forgetPeak(hub);
    const rows: Row[] = [];
    for (const [name, operation, input] of REPORTS)
      rows.push(await asked(squad, hub, name, operation, input));
    if (canReadMemory)
      rows.push(
        single('peak memory of the hub', 'MB', memoryOf(hub).peak, {
          target: `≤ ${MAX_RSS_MB} MB`,
          isMet: ({ value }) => value <= MAX_RSS_MB,
        }),
      );
    return rows;
  },
};

/** Requests a report repeatedly while another client requests the hub's status. The floor is that client alone. */
async function asked(
  squad: BenchSquad,
  hub: number,
  name: string,
  operation: string,
  input: object,
): Promise<Row> {
  const took: Samples = [];
  const ask = async () => took.push(await timed(() => askHub(squad, operation, { input })));
  const isOnce = operation === 'prune' && !('dryRun' in input);
  const alone = await waitsOf(squad, hub, () => delay(ALONE_MS));
  const waits = await waitsOf(squad, hub, async () => {
    const until = performance.now() + ASKED_FOR_MS;
    do await ask();
    while (!isOnce && took.length < PAIRS && performance.now() < until);
  });
  const longest = longestOf(waits);
  const mostWork = Math.max(...waits.map(({ workedMs }) => workedMs));
  return {
    ...single(name, 'ms', longest.ms, {
      target: `≤ ${MAX_WAIT_MS} ms`,
      isMet: ({ value }) => value <= MAX_WAIT_MS,
      note:
        `longest of ${waits.length} waits, of which the hub's thread worked ${longest.workedMs.toFixed(0)} ms and had no core for ` +
        `${longest.starvedMs.toFixed(0)} ms; it worked at most ${mostWork.toFixed(0)} ms in any; ` +
        `the report itself took ${median(took).toFixed(0)} ms, ${took.length} times`,
    }),
    floor: longestOf(alone).ms,
    samples: waits.map(({ ms }) => ms),
  };
}

const longestOf = (waits: Wait[]): Wait => waits.reduce((a, b) => (b.ms > a.ms ? b : a));

/** Waiting times of a client in another thread, because reading a long answer would delay it in this one. */
async function waitsOf(squad: BenchSquad, hub: number, act: () => Promise<unknown>): Promise<Wait[]> {
  const workerData = { hub, home: squad.home, workspace: squad.workspace, env: squad.env() };
  const thread = new Worker(new URL('../other-caller.ts', import.meta.url), { workerData });
  await once(thread, 'message');
  await act();
  thread.postMessage('enough');
  const [waits] = await once(thread, 'message');
  await thread.terminate();
  return waits as Wait[];
}

/** Inserts rows with SQL and creates the indexes afterwards: through the store this would take a quarter of an hour. */
function fill(file: string): void {
  const handle = new BetterSqlite3(file);
  handle.pragma('journal_mode = off');
  handle.pragma('synchronous = off');
  const made = handle
    .prepare<[], { type: string; name: string; sql: string }>(
      `select type, name, sql from sqlite_schema
       where type in ('index', 'trigger') and tbl_name in ('squads', 'runs', 'turns', 'events') and sql is not null`,
    )
    .all();
  for (const { type, name } of made) handle.exec(`drop ${type} ${name}`);
  const changes = finishedRun('/projects/0', 0);
  const run = changes.at(-1)!.runs![0]!;
  const usage = { input: 120_000, output: 4_000, cached: 90_000, costUsd: 0.21, costIsEstimated: false };
  const error = JSON.stringify({ code: 'ENGINE_FAILED', message: 'It said so.' });
  const now = Date.now();
  handle.exec(`create temp table numbers as
    with recursive counted(n) as (select 0 union all select n + 1 from counted where n < ${RUNS - 1})
    select n, printf('run_%010d', n) as run, printf('squad_%010d', n) as squad, '/projects/' || (n % 20) as workspace,
      cast(${now - HOUR_MS} - n * ${(DAYS * DAY_MS) / RUNS} as integer) as at
    from counted order by n desc`);
  const key = { id: 'run', lineage_id: 'run', squad_id: 'squad', workspace: 'workspace' };
  copyRows(handle, 'squads', squadToRow(changes[0]!.squads![0]!), { ...key, id: 'squad', created_at: 'at' });
  copyRows(handle, 'runs', runToRow({ ...run, usage }), {
    ...key,
    role_id: `'role ' || (n % 5)`,
    created_at: 'at',
    started_at: 'at + 20',
    ended_at: 'at + 60000',
    status: `iif(n % 10 = 0, 'error', 'completed')`,
    error: `iif(n % 10 = 0, '${error}', null)`,
    // Some engines report no usage.
    usage: `iif(n % 4 = 0, null, '${JSON.stringify(usage)}')`,
    cost_usd: `iif(n % 4 = 0, null, ${usage.costUsd})`,
    cost_is_estimated: 'iif(n % 4 = 0, null, 0)',
    input_tokens: `iif(n % 4 = 0, null, ${usage.input})`,
    output_tokens: `iif(n % 4 = 0, null, ${usage.output})`,
  });
  copyRows(handle, 'turns', turnToRow(changes.at(-1)!.turns![0]!), { run_id: 'run' });
  for (const event of changes.flatMap(({ events }) => events))
    copyRows(handle, 'events', eventToRow(event), {
      at: 'at',
      run_id: event.runId && 'run',
      squad_id: 'squad',
    });
  for (const { sql } of made) handle.exec(sql);
  const counts = MIGRATIONS.flatMap(({ statements }) => statementsFor('sqlite', statements)).filter(
    statement => /^insert into (run_counts|spending) /.test(statement),
  );
  for (const statement of counts) handle.exec(statement);
  handle.close();
}

/** Copies a row once for each run, with these columns replaced. */
function copyRows(
  handle: BetterSqlite3.Database,
  table: string,
  row: object,
  own: Record<string, string | null>,
): void {
  const columns = Object.keys(row);
  const values = columns.map(column => own[column] ?? `@${column}`);
  const given = Object.fromEntries(Object.entries(row).filter(([column]) => !own[column]));
  handle
    .prepare(
      `insert into ${table} (${columns.map(name => `"${name}"`)}) select ${values} from numbers order by n desc`,
    )
    .run(given);
}
