import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from './replace-file.ts';

/** File with the URL of the PostgreSQL database that the hub of a home uses. Its mode is 0600: it may hold a password. */
export const databaseUrlFile = (home: string): string => join(home, 'database-url');

/** URL of the PostgreSQL database of a home. Null if the home uses SQLite. The environment comes first. */
export const databaseUrl = (home: string, env: Record<string, string | undefined>): string | null =>
  env.SQUAD_DATABASE_URL || joinedDatabase(home);

/** The database that the home has joined. Null if there is none. */
export function joinedDatabase(home: string): string | null {
  try {
    return readFileSync(databaseUrlFile(home), 'utf8').trim() || null;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw thrown;
  }
}

export const joinDatabase = (home: string, url: string): void =>
  replaceFile(databaseUrlFile(home), `${url}\n`, 0o600);

export const leaveDatabase = (home: string): void => rmSync(databaseUrlFile(home), { force: true });
