import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { query } from '../../src/store/fixtures/temp-database.ts';
import type { TestSquad } from './squad.ts';

export interface StoredEvent {
  seq: number;
  run_id: string | null;
  squad_id: string | null;
  type: string;
  data: Record<string, unknown>;
}

/** The events on disk, oldest first: what a hub that starts now would find. */
export async function storedEvents(squad: TestSquad, after = 0): Promise<StoredEvent[]> {
  const rows = (await query(
    databaseOf(squad),
    `select seq, run_id, squad_id, type, data from events where seq > ${after} order by seq`,
  )) as unknown as (Omit<StoredEvent, 'data'> & { data: string })[];
  return rows.map(row => ({ ...row, data: JSON.parse(row.data) }));
}

/** Everything a call could have left behind: rows and folders of runs. */
export async function footprint(
  squad: TestSquad,
): Promise<{ squads: number; runs: number; folders: string[] }> {
  const [counts] = (await query(
    databaseOf(squad),
    'select (select count(*) from squads) as squads, (select count(*) from runs) as runs',
  )) as { squads: number; runs: number }[];
  const runs = join(squad.home, 'runs');
  return {
    ...counts!,
    folders: existsSync(runs)
      ? readdirSync(runs)
          .filter(name => !name.startsWith('.'))
          .sort()
      : [],
  };
}

export async function lastSeq(squad: TestSquad): Promise<number> {
  const [row] = await query(databaseOf(squad), 'select max(seq) as seq from events');
  return (row?.seq as number | null) ?? 0;
}

/** Hash of the token of a run, as the database stores it. */
export async function tokenHashOf(squad: TestSquad, runId: string): Promise<string | null | undefined> {
  const [row] = await query(databaseOf(squad), `select token_hash from runs where id = '${runId}'`);
  return row?.token_hash as string | null | undefined;
}

/** Path or URL of the squad's database. */
export const databaseOf = ({ env, home }: TestSquad): string =>
  env.SQUAD_DATABASE_URL || join(home, 'squad.db');
