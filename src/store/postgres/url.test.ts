import { expect, test } from 'vitest';
import { nameOfDatabase } from './url.ts';

test.each([
  ['postgres://me:secret@db.example:6432/squad?sslmode=verify-full', 'postgres://db.example:6432/squad'],
  ['postgresql://db.example/squad?password=secret', 'postgresql://db.example/squad'],
  ['postgres:///squad?host=/run/postgresql', 'postgres:///squad?host=/run/postgresql'],
])('%s is shown as %s', (url, name) => {
  expect(nameOfDatabase(url)).toBe(name);
});

test.each([
  '',
  'squad.db',
  'mysql://h/db',
  'postgres://h',
  'postgres://me:12#3@h/db',
  'postgres://me:a/b@h/db',
])('%s is refused, and not repeated', url => {
  const refused = () => nameOfDatabase(url);
  expect(refused).toThrow('SQUAD_DATABASE_URL is not the URL of a PostgreSQL database.');
});
