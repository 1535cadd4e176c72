import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { databaseUrl, joinDatabase, joinedDatabase, leaveDatabase } from '../link/database-url.ts';
import { homeFolder, ownFolder } from '../link/home.ts';
import { homeId } from '../link/home-id.ts';
import { lockPath } from '../link/hub-record.ts';
import { version } from '../link/program.ts';
import { createRunOfProcess } from '../process/table/run-of-process.ts';
import { asSquadError, SquadError } from '../schema/error.ts';
import type { Backend } from '../store/backend.ts';
import { CommitMark } from '../store/commit-mark.ts';
import { moveRows } from '../store/move.ts';
import { BUSY_RETRY_MS, databaseName, openBackend } from '../store/open.ts';
import { changeSchema, countLiveRuns, grant, inspectDatabase } from '../store/postgres/administer.ts';
import { isPostgresUrl, nameOfDatabase } from '../store/postgres/url.ts';
import { takeLock } from '../store/sqlite/lock.ts';

/**
 * `squad db` and `squad hub join`: opens the database itself, so the hub must not be running. The first argument is the
 * action, the second its options as JSON. The URL comes by the environment, where other users cannot read it. Prints one
 * line of JSON.
 */
const home = homeFolder(process.env);
const file = process.env.MCP_DATABASE_PATH || join(home, 'squad.db');
const mark = new CommitMark(join(home, 'runs', '.database.json'));

/** Options of the actions. The command line checks them. */
interface Options {
  user: string;
  apply: boolean;
  move: boolean;
  leaveRuns: boolean;
  schema: string;
  drop?: boolean;
}

const ACTIONS: Record<string, (options: Options) => Promise<object>> = {
  migrate: () => alone(migrate),
  move: () => alone(() => move(requiredUrl())),
  grant: async ({ user, apply }) => ({
    database: nameOfDatabase(requiredUrl()),
    statements: await grant(requiredUrl(), user, apply),
  }),
  inspect: () => inspectDatabase(requiredUrl(), version),
  join: options => alone(() => joinTo(requiredUrl(), options)),
  leave: () => alone(leave),
  schema: async ({ schema, drop }) => {
    await changeSchema(requiredUrl(), schema, drop ? 'drop' : 'create');
    return { schema };
  },
};

void perform(ACTIONS[process.argv[2] ?? '']!, JSON.parse(process.argv[3] ?? '{}'));

async function perform(action: (options: Options) => Promise<object>, options: Options): Promise<void> {
  let answer: object;
  try {
    ownFolder(home);
    await refuseAgents();
    answer = { ok: await action(options) };
  } catch (thrown) {
    answer = { error: asSquadError(thrown).toShape() };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

/** No hub is asked here, so this program itself finds out whether an agent started it. */
async function refuseAgents(): Promise<void> {
  if (!(await createRunOfProcess(join(home, 'runs'))(process.ppid))) return;
  throw new SquadError('NOT_ALLOWED', 'Only the user may change the database.');
}

/** Takes the place of the hub. */
async function alone(action: () => Promise<object>): Promise<object> {
  const lock = takeLock(lockPath(home));
  if (!lock)
    throw new SquadError('DATABASE_LOCKED', `The hub of ${home} is running and uses its database.`, {
      suggestions: ['Stop the hub with `squad hub stop` and try again. Agents keep running.'],
    });
  return action().finally(() => lock.release());
}

function requiredUrl(): string {
  const url = databaseUrl(home, process.env);
  if (url !== null) return url;
  throw new SquadError(
    'INVALID_INPUT',
    'SQUAD_DATABASE_URL is not set, and this home has not joined a database.',
    { suggestions: ['Set it to postgres://USER@HOST/DATABASE, or use `squad hub join URL`.'] },
  );
}

async function migrate(): Promise<object> {
  const startedAt = Date.now();
  const url = databaseUrl(home, process.env);
  if (url !== null) nameOfDatabase(url);
  const database = url ?? file;
  // A database is often migrated by its owner, which runs no hub.
  const backend = await open(database, false);
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

async function move(url: string): Promise<{ from: string; to: string; rows: Record<string, number> }> {
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

/** The hub of this home uses the database from now on. */
async function joinTo(url: string, { move: isMoving, leaveRuns }: Options): Promise<object> {
  const name = nameOfDatabase(url);
  const joined = joinedDatabase(home);
  if (joined !== null && nameOfDatabase(joined) !== name)
    throw new SquadError('INVALID_INPUT', `This home has joined ${nameOfDatabase(joined)} already.`, {
      suggestions: ['Leave that database first: `squad hub join --undo`.'],
    });
  const facts = await inspectDatabase(url, version);
  const runs = await runsInFile();
  if (runs > 0 && !isMoving && !leaveRuns)
    throw new SquadError('ANSWER_NEEDED', `${file} has ${runs} runs, which would not be moved.`, {
      suggestions: [
        'Copy everything, which needs an empty database: `squad hub join URL --move`.',
        'Join without moving: `squad hub join URL --yes`. The hub restores the runs from their folders; settings, questions, conversations and approved tools stay in the file.',
      ],
      details: { runs },
    });
  const rows = isMoving ? (await move(url)).rows : null;
  // As the hub does: creates missing tables, takes the lock of this home and checks its rights.
  if (!isMoving) await (await open(url)).close();
  joinDatabase(home, url);
  return { ...facts, home, file, rows, left: isMoving ? 0 : runs };
}

/** Number of runs in the SQLite file. 0 if the hub used PostgreSQL last. */
async function runsInFile(): Promise<number> {
  if (!existsSync(file) || isPostgresUrl(mark.read()?.database ?? '')) return 0;
  const backend = await open(file);
  try {
    return (await backend.db.selectFrom('runs').select('id').execute()).length;
  } finally {
    await backend.close();
  }
}

/** The hub of this home uses SQLite again. */
async function leave(): Promise<object> {
  const url = joinedDatabase(home);
  if (url === null)
    throw new SquadError('INVALID_INPUT', 'This home has not joined a database.', {
      suggestions: ['If SQUAD_DATABASE_URL is set, unset it instead.'],
    });
  // A database that is gone for good must not keep its hubs.
  const live = await countLiveRuns(url, homeId(home)).catch(asSquadError);
  if (typeof live === 'number' && live > 0)
    throw new SquadError('RUN_NOT_OVER', `${live} runs of this home have not ended.`, {
      suggestions: ['Wait for them with `squad wait`, or stop them: `squad cancel --all --everywhere`.'],
    });
  leaveDatabase(home);
  // Otherwise the next hub would refuse to use SQLite. Without the mark it restores newer runs from their folders.
  rmSync(mark.file, { force: true });
  return {
    database: nameOfDatabase(url),
    file,
    home,
    unreachable: typeof live === 'number' ? null : live.message,
  };
}

function open(database: string, isHub = true): Promise<Backend> {
  return openBackend({ database, version, home: { id: homeId(home), home }, isHub }, BUSY_RETRY_MS);
}
