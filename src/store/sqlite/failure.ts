import BetterSqlite3 from 'better-sqlite3';
import { asSquadError, SquadError } from '../../schema/error.ts';
import type { Failure } from '../backend.ts';
import { UnreadableRow } from '../tables.ts';

/** Classifies an error of SQLite or of the code around it. */
export function sqliteFailure(thrown: unknown, file: string): Failure {
  if (thrown instanceof SquadError) return { kind: KIND_OF[thrown.code] ?? 'broken', error: thrown };
  if (thrown instanceof UnreadableRow) return corrupt(file, thrown.message, thrown);
  if (!(thrown instanceof BetterSqlite3.SqliteError)) return refusedValue(thrown, file);

  const { code, message } = thrown;
  if (/^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(code)) return locked(file, thrown);
  if (/^SQLITE_(FULL|IOERR_WRITE|IOERR_SHMSIZE)$/.test(code)) return full(file, thrown);
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return corrupt(file, message, thrown);
  if (/^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(code)) return refused(file, message, thrown);
  if (/^SQLITE_(READONLY|CANTOPEN|PERM|AUTH)/.test(code)) return denied(file, message, thrown);
  return broken(file, `${message} (${code})`, thrown);
}

const KIND_OF: { [code: string]: Failure['kind'] } = {
  DATABASE_LOCKED: 'locked',
  DISK_FULL: 'full',
};

const locked = (file: string, cause: unknown): Failure => ({
  kind: 'locked',
  error: new SquadError('DATABASE_LOCKED', `Another process keeps the database ${file} locked.`, {
    cause,
    suggestions: ['Close any other program that has this file open, then try again.'],
  }),
});

const full = (file: string, cause: unknown): Failure => ({
  kind: 'full',
  error: new SquadError(
    'DISK_FULL',
    `No space is left on the disk (or in your quota) for the database ${file}.`,
    {
      cause,
      suggestions: ['Free some space (`squad prune` removes old runs), then try again.'],
    },
  ),
});

export const corrupt = (file: string, why: string, cause?: unknown): Failure => ({
  kind: 'broken',
  error: new SquadError('DATABASE_CORRUPT', `The database ${file} is damaged: ${why}.`, {
    cause,
    suggestions: [
      'Run the command again: the next hub rebuilds the database from its readable parts and from the run folders. The damaged files are renamed and kept.',
    ],
  }),
});

const denied = (file: string, why: string, cause: unknown): Failure => ({
  kind: 'broken',
  error: new SquadError('PERMISSION_DENIED', `The database ${file} cannot be opened for writing: ${why}.`, {
    cause,
    suggestions: [
      'Check the owner and mode of the file and its folder. Squad also writes two files next to it, ending in -wal and -shm.',
    ],
  }),
});

const broken = (file: string, why: string, cause?: unknown): Failure => ({
  kind: 'broken',
  error: new SquadError('DATABASE_FAILED', `The database ${file} cannot be used: ${why}.`, {
    cause,
    suggestions: ['Check the disk and the file. `squad doctor` checks both.'],
  }),
});

const refused = (file: string, why: string, cause: unknown): Failure => ({
  kind: 'refused',
  error: new SquadError('DATABASE_FAILED', `The database ${file} refused a change: ${why}.`, {
    cause,
    suggestions: ['This is a bug in Squad; please report it. All other changes were saved.'],
  }),
});

/** Errors thrown before SQLite was involved: by the file system, or by a value that cannot be stored. */
function refusedValue(thrown: unknown, file: string): Failure {
  const known = asSquadError(thrown);
  if (known.code !== 'INTERNAL') return { kind: KIND_OF[known.code] ?? 'broken', error: known };
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const fromSystem = typeof (thrown as { errno?: unknown } | null)?.errno === 'number';
  return fromSystem ? broken(file, message, thrown) : refused(file, message, thrown);
}
