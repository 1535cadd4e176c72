import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { homeFolder, ownFolder } from '../link/home.ts';
import { homeId } from '../link/home-id.ts';
import { lockPath } from '../link/hub-record.ts';
import { version } from '../link/program.ts';
import { asSquadError, SquadError } from '../schema/error.ts';
import type { Backend } from '../store/backend.ts';
import { moveRows } from '../store/move.ts';
import { BUSY_RETRY_MS, databaseName, openBackend } from '../store/open.ts';
import { nameOfDatabase } from '../store/postgres/url.ts';
import { takeLock } from '../store/sqlite/lock.ts';

/** `squad db`: opens the database itself, so the hub must not be running. Prints one line of JSON. */
const home = homeFolder(process.env);
const url = process.env.SQUAD_DATABASE_URL || null;
const file = process.env.MCP_DATABASE_PATH || join(home, 'squad.db');

void perform(process.argv[2] === 'move' ? move : migrate);

async function perform(action: () => Promise<object>): Promise<void> {
  let answer: object;
  try {
    ownFolder(home);
    const lock = takeLock(lockPath(home));
    if (!lock)
      throw new SquadError('DATABASE_LOCKED', `The hub of ${home} is running and uses its database.`, {
        suggestions: ['Stop the hub with `squad hub stop` and try again. Agents keep running.'],
      });
    answer = { ok: await action().finally(() => lock.release()) };
  } catch (thrown) {
    answer = { error: asSquadError(thrown).toShape() };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

async function migrate(): Promise<object> {
  const startedAt = Date.now();
  if (url !== null) nameOfDatabase(url);
  const database = url ?? file;
  const backend = await open(database);
  try {
    const rows = await backend.db
      .selectFrom('migrations')
      .select(['name', 'applied_at'])
      .orderBy('name')
      .execute();
    const applied = rows.filter(({ applied_at }) => applied_at >= startedAt).map(({ name }) => name);
    return { database: databaseName(database), applied, migrations: rows.length };
  } finally {
    await backend.close();
  }
}

async function move(): Promise<object> {
  if (url === null)
    throw new SquadError(
      'INVALID_INPUT',
      'SQUAD_DATABASE_URL is not set: it names the database to move to.',
      {
        suggestions: ['Set it to postgres://USER@HOST/DATABASE, for this command and for the hub.'],
      },
    );
  const name = nameOfDatabase(url);
  if (!existsSync(file))
    throw new SquadError('DATABASE_FAILED', `There is no SQLite database ${file} to move.`, {
      suggestions: ['Check SQUAD_HOME and MCP_DATABASE_PATH. A new database needs no move: start the hub.'],
    });
  const from = await open(file);
  try {
    const to = await open(url);
    try {
      return { from: databaseName(file), to: name, rows: await moveRows(from, to, name) };
    } catch (thrown) {
      throw to.failureOf(thrown).error;
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}

function open(database: string): Promise<Backend> {
  return openBackend({ database, version, home: { id: homeId(home), home } }, BUSY_RETRY_MS);
}
