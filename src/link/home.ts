import { accessSync, chmodSync, constants, lstatSync, mkdirSync, type Stats, statSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';

type Env = Record<string, string | undefined>;

/** One home is one hub: two `SQUAD_HOME`s never see each other. */
export function homeFolder(env: Env): string {
  if (env.SQUAD_HOME) return resolve(env.SQUAD_HOME);
  return join(xdgFolder(env.XDG_STATE_HOME) ?? join(env.HOME || homedir(), '.local', 'state'), 'squad');
}

/** The XDG rules: a relative path is to be ignored. */
export const xdgFolder = (given: string | undefined): string | null =>
  given && isAbsolute(given) ? given : null;

/** Prices of the user's own. */
export const pricesFile = (home: string): string => join(home, 'prices.json');

/** Bytes a socket address holds on macOS, less the closing NUL; Linux has a few more. */
const MAX_SOCKET_PATH_LENGTH = 100;

/** For a home too deep to hold a socket. Not the temporary folder: two clients of one user may have set theirs differently. */
const SHORT_FOLDERS = ['/tmp', '/var/tmp', '/dev/shm'];

export function socketPath(home: string, shortFolders: readonly string[] = SHORT_FOLDERS): string {
  const plain = join(home, 'hub.sock');
  if (Buffer.byteLength(plain) <= MAX_SOCKET_PATH_LENGTH) return plain;
  // Loaded only here: it takes longer than all the rest that `squad mcp` needs to find its hub.
  const { createHash } = process.getBuiltinModule('node:crypto');
  const name = createHash('sha256').update(home).digest('hex').slice(0, 16);
  const paths = shortFolders.map(folder => join(folder, `squad-${userInfo().uid}`, `${name}.sock`));
  const own = paths.filter(path => isOwnFolder(dirname(path)));
  // Anybody can make a folder of that name first. A socket that is there counts more than the order: then all find the same one.
  return (
    own.find(path => statOf(path, lstatSync)) ??
    paths.find(path => own.includes(path) || !statOf(dirname(path), lstatSync)) ??
    paths[0]!
  );
}

/** Makes a folder only its owner can enter, and refuses one that somebody else made first. */
export function ownFolder(folder: string): void {
  const fault = homeFault(folder);
  if (fault) throw unusable(fault);
  try {
    makeWithParents(folder);
    const found = statOfOwn(folder);
    if (found && (found.mode & 0o077) !== 0) chmodSync(folder, 0o700);
  } catch (error) {
    throw unusable(`${folder} cannot be made: ${(error as Error).message}`, error);
  }
  if (!statOfOwn(folder)) throw unusable(`${folder} is not a folder of yours`);
}

/** Why this can be no home, as far as that is seen without making it; null when nothing speaks against it. */
export function homeFault(folder: string): string | null {
  const there = nearestThere(folder);
  const isThere = there === folder;
  if (!statOf(there)?.isDirectory()) return `${folder} cannot be made: ${there} is not a folder`;
  if (isThere && !statOfOwn(folder)) return `${folder} is not a folder of yours`;
  try {
    accessSync(there, constants.W_OK | constants.X_OK);
    return null;
  } catch {
    return `${folder} cannot be ${isThere ? 'written to' : `made: ${there} cannot be written to`}`;
  }
}

export const unusable = (message: string, cause?: unknown) =>
  Object.assign(new Error(message, { cause }), {
    code: 'HOME_UNUSABLE',
    suggestions: ['Set SQUAD_HOME to a folder that you own, or put this one right.'],
  });

function nearestThere(path: string): string {
  let there = path;
  while (!statOf(there) && dirname(there) !== there) there = dirname(there);
  return there;
}

/** Level by level: Node's own way never ends where the system makes no folders, as in /proc. */
function makeWithParents(folder: string): void {
  const there = nearestThere(folder);
  const missing: string[] = [];
  for (let level = folder; level !== there; level = dirname(level)) missing.unshift(level);
  for (const level of missing)
    try {
      mkdirSync(level, { mode: 0o700 });
    } catch (error) {
      // Another program of ours may be making it at the same moment.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
}

/** Whether nobody else can have put anything into it: what is found there may be trusted with a client's environment. */
export function isOwnFolder(folder: string): boolean {
  const found = statOfOwn(folder);
  return found !== null && (found.mode & 0o022) === 0;
}

/** A link is followed only if it is the user's own. */
function statOfOwn(folder: string): Stats | null {
  const { uid } = userInfo();
  if (statOf(folder, lstatSync)?.uid !== uid) return null;
  const found = statOf(folder);
  return found?.isDirectory() && found.uid === uid ? found : null;
}

/** What cannot even be looked at is not there for us. */
function statOf(path: string, look: (path: string) => Stats = statSync): Stats | null {
  try {
    return look(path);
  } catch {
    return null;
  }
}
