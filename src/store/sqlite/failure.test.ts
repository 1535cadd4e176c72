import BetterSqlite3 from 'better-sqlite3';
import { expect, test } from 'vitest';
import { tempFile } from '../fixtures/temp-file.ts';
import { sqliteFailure } from './failure.ts';

const thrownBy = (work: () => unknown): unknown => {
  try {
    work();
  } catch (thrown) {
    return thrown;
  }
  throw new Error('nothing was thrown');
};

test.each([
  ['SQLITE_BUSY', 'locked', 'DATABASE_LOCKED'],
  ['SQLITE_BUSY_SNAPSHOT', 'locked', 'DATABASE_LOCKED'],
  ['SQLITE_FULL', 'full', 'DISK_FULL'],
  ['SQLITE_IOERR_WRITE', 'full', 'DISK_FULL'],
  ['SQLITE_IOERR_READ', 'broken', 'DATABASE_FAILED'],
  ['SQLITE_CORRUPT_INDEX', 'broken', 'DATABASE_CORRUPT'],
  ['SQLITE_NOTADB', 'broken', 'DATABASE_CORRUPT'],
  ['SQLITE_CANTOPEN', 'broken', 'PERMISSION_DENIED'],
  ['SQLITE_CONSTRAINT_NOTNULL', 'refused', 'DATABASE_FAILED'],
])('%s is %s, told as %s with the file and a next step', (code, kind, told) => {
  const failure = sqliteFailure(new BetterSqlite3.SqliteError('words of SQLite', code), '/some/file.db');
  expect(failure).toMatchObject({ kind, error: { code: told } });
  expect(failure.error.message).toContain('/some/file.db');
  expect(failure.error.suggestions.length).toBeGreaterThan(0);
});

test('a real write to a file that may only be read is a matter of permission', () => {
  const file = tempFile();
  new BetterSqlite3(file).exec('create table t (x)').close();
  const handle = new BetterSqlite3(file, { readonly: true });
  const thrown = thrownBy(() => handle.exec('insert into t values (1)'));
  handle.close();
  expect(sqliteFailure(thrown, file)).toMatchObject({ kind: 'broken', error: { code: 'PERMISSION_DENIED' } });
});
