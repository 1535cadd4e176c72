import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { TestSquad } from './squad.ts';

export interface StoredEvent {
  seq: number;
  run_id: string | null;
  squad_id: string | null;
  type: string;
  data: Record<string, unknown>;
}

/** The events on disk, oldest first: what a hub that starts now would find. */
export function storedEvents(squad: TestSquad, after = 0): StoredEvent[] {
  const rows = query<Omit<StoredEvent, 'data'> & { data: string }>(
    squad,
    'select seq, run_id, squad_id, type, data from events where seq > ? order by seq',
    after,
  );
  return rows.map(row => ({ ...row, data: JSON.parse(row.data) }));
}

/** Everything a call could have left behind: rows and folders of runs. */
export function footprint(squad: TestSquad): { squads: number; runs: number; folders: string[] } {
  const [counts] = query<{ squads: number; runs: number }>(
    squad,
    'select (select count(*) from squads) as squads, (select count(*) from runs) as runs',
  );
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

export const lastSeq = (squad: TestSquad): number =>
  query<{ seq: number | null }>(squad, 'select max(seq) as seq from events')[0]?.seq ?? 0;

/** Hash of the token of a run, as the database stores it. */
export const tokenHashOf = (squad: TestSquad, runId: string): string | null | undefined =>
  query<{ token_hash: string | null }>(squad, 'select token_hash from runs where id = ?', runId)[0]
    ?.token_hash;

function query<T>(squad: TestSquad, sql: string, ...values: unknown[]): T[] {
  const database = new Database(join(squad.home, 'squad.db'), { readonly: true });
  try {
    return database.prepare(sql).all(...values) as T[];
  } finally {
    database.close();
  }
}
