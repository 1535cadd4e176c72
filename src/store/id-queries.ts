import type { Kysely } from 'kysely';
import type { Tables } from './tables.ts';

type Db = Kysely<Tables>;
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
