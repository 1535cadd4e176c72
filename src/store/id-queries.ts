import type { Kysely } from 'kysely';
import type { Tables } from './tables.ts';

type Db = Kysely<Tables>;
type Found = { id: string; created_at: number };

/** Ids are made of digits and small letters, and `{` is the character after `z`. */
export const AFTER_EVERY_LETTER = '{';

export async function idsLike(db: Db, prefix: string, limit: number): Promise<string[]> {
  const [, tag, letters] = /^(run_|squad_)?([0-9a-z]*)$/.exec(prefix) ?? [];
  if (letters === undefined) return [];
  const runs = tag === 'squad_' ? [] : await startingWith(db, 'runs', `run_${letters}`, limit);
  const squads = tag === 'run_' ? [] : await startingWith(db, 'squads', `squad_${letters}`, limit);
  return newest([...runs, ...squads], limit);
}

export async function recentIds(db: Db, limit: number): Promise<string[]> {
  return newest([...(await recent(db, 'runs', limit)), ...(await recent(db, 'squads', limit))], limit);
}

function startingWith(db: Db, table: 'runs' | 'squads', prefix: string, limit: number): Promise<Found[]> {
  const id = db.dynamic.ref<'id'>('id');
  return db
    .selectFrom(table)
    .select(['id', 'created_at'])
    .where(id, '>=', prefix)
    .where(id, '<', prefix + AFTER_EVERY_LETTER)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute();
}

function recent(db: Db, table: 'runs' | 'squads', limit: number): Promise<Found[]> {
  return db
    .selectFrom(table)
    .select(['id', 'created_at'])
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute();
}

const newest = (found: Found[], limit: number): string[] =>
  found
    .sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1))
    .slice(0, limit)
    .map(({ id }) => id);
