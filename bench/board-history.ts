import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import type { Change } from '../src/core/ports/store.ts';
import { openStore } from '../src/store/open.ts';
import type { BenchSquad } from './bench-squad.ts';
import { finishedRun } from './sample-runs.ts';

const AT_ONCE = 500;
const DAYS = 30;
const HOUR_MS = 3_600_000;

/** Fills a home without a running hub with runs of the last month, some of them failed, and with their events. */
export async function fillHistory(
  squad: BenchSquad,
  { runs, events }: { runs: number; events: number },
): Promise<void> {
  const file = join(squad.home, 'squad.db');
  const store = await openStore({ database: file, version: 'bench' });
  for (let done = 0; done < runs; done += AT_ONCE) {
    const changes = Array.from({ length: Math.min(AT_ONCE, runs - done) }, (_, i) =>
      runOfMonth(squad.workspace, done + i, runs),
    );
    await Promise.all(changes.flat().map(change => store.commit(change)));
  }
  await store.close();
  addActivity(file, events);
}

function runOfMonth(workspace: string, at: number, runs: number): Change[] {
  const createdAt = Math.round(Date.now() - HOUR_MS - (at / runs) * DAYS * 24 * HOUR_MS);
  const changes = finishedRun(at % 3 === 0 ? `${workspace}/other` : workspace, createdAt);
  for (const run of changes.at(-1)?.runs ?? []) {
    run.status = at % 10 === 0 ? 'error' : 'completed';
    if (run.status === 'error') run.error = { code: 'ENGINE_FAILED', message: 'It said so.' };
    // Some engines report no usage.
    if (at % 4 > 0)
      run.usage = { input: 120_000, output: 4_000, cached: 90_000, costUsd: 0.21, costIsEstimated: false };
  }
  return changes;
}

/** Inserts events with one SQL statement: through the store it would take longer than the measurement. */
function addActivity(file: string, events: number): void {
  const handle = new BetterSqlite3(file);
  const { runs, there } = handle
    .prepare<[], { runs: number; there: number }>(
      'select (select count(*) from runs) as runs, (select count(*) from events) as there',
    )
    .get()!;
  const each = Math.ceil((events - there) / runs);
  handle
    .prepare(
      `with recursive counted(n) as (select 1 union all select n + 1 from counted where n < ?)
       insert into events (at, run_id, squad_id, type, data)
       select created_at + n, id, squad_id, 'run.activity', '{"kind":"tool","text":"Bash npm test -- src/upload ' || n || '"}'
       from counted cross join runs`,
    )
    .run(each);
  handle.close();
}
