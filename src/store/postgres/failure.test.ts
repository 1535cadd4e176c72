import { expect, test } from 'vitest';
import { postgresFailure } from './failure.ts';

const NAME = 'postgres://db.example/squad';
const withCode = (code: string, message = 'words of PostgreSQL') =>
  Object.assign(new Error(message), { code });

test.each([
  ['40001', 'locked', 'DATABASE_LOCKED'],
  ['40P01', 'locked', 'DATABASE_LOCKED'],
  ['55P03', 'locked', 'DATABASE_LOCKED'],
  ['53300', 'locked', 'DATABASE_LOCKED'],
  ['25P03', 'locked', 'DATABASE_LOCKED'],
  ['57P01', 'locked', 'DATABASE_UNREACHABLE'],
  ['57P03', 'locked', 'DATABASE_UNREACHABLE'],
  ['08006', 'locked', 'DATABASE_UNREACHABLE'],
  ['53100', 'full', 'DISK_FULL'],
  ['23503', 'refused', 'DATABASE_FAILED'],
  ['22P02', 'refused', 'DATABASE_FAILED'],
  ['25006', 'broken', 'PERMISSION_DENIED'],
  ['28P01', 'broken', 'PERMISSION_DENIED'],
  ['42501', 'broken', 'PERMISSION_DENIED'],
  ['3D000', 'broken', 'DATABASE_FAILED'],
  ['XX000', 'broken', 'DATABASE_FAILED'],
  ['ECONNREFUSED', 'locked', 'DATABASE_UNREACHABLE'],
  ['ENOTFOUND', 'locked', 'DATABASE_UNREACHABLE'],
])('%s is %s, reported as %s with the database and a next step', (code, kind, told) => {
  const failure = postgresFailure(withCode(code), NAME);
  expect(failure).toMatchObject({ kind, error: { code: told } });
  expect(failure.error.message).toContain(NAME);
  expect(failure.error.suggestions.length).toBeGreaterThan(0);
});

test.each(['Connection terminated unexpectedly', 'timeout expired', 'Query read timeout'])(
  'an error of the driver without a code, %s, is a lost connection',
  message => {
    expect(postgresFailure(new Error(message), NAME)).toMatchObject({
      kind: 'locked',
      error: { code: 'DATABASE_UNREACHABLE' },
    });
  },
);
