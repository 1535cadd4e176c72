import { accessSync, chmodSync, constants, lstatSync, mkdirSync, type Stats, statSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';

type Env = Record<string, string | undefined>;

/** Each `SQUAD_HOME` has its own hub. */
export function homeFolder(env: Env): string {
  if (env.SQUAD_HOME) return resolve(env.SQUAD_HOME);
  return join(xdgFolder(env.XDG_STATE_HOME) ?? join(env.HOME || homedir(), '.local', 'state'), 'squad');
}

/** The XDG rules say that a relative path is ignored. */
export const xdgFolder = (given: string | undefined): string | null =>
  given && isAbsolute(given) ? given : null;

/** File with the user's own prices. */
export const pricesFile = (home: string): string => join(home, 'prices.json');

/** Maximum length of a socket path in bytes: the limit of macOS without the NUL; Linux allows a few more. */
const MAX_SOCKET_PATH_LENGTH = 100;

/**
 * Folders for the socket of a home whose path is too long. TMPDIR is not used, because clients of one user may have
 * different values.
 */
const SHORT_FOLDERS = ['/tmp', '/var/tmp', '/dev/shm'];

export function socketPath(home: string, shortFolders: readonly string[] = SHORT_FOLDERS): string {
  const plain = join(home, 'hub.sock');
  if (Buffer.byteLength(plain) <= MAX_SOCKET_PATH_LENGTH) return plain;
  // The crypto module is loaded only here, because loading it takes longer than everything else that `squad mcp` does
  // to find its hub.
  const { createHash } = process.getBuiltinModule('node:crypto');
  const name = createHash('sha256').update(home).digest('hex').slice(0, 16);
  const paths = shortFolders.map(folder => join(folder, `squad-${userInfo().uid}`, `${name}.sock`));
  const own = paths.filter(path => isOwnFolder(dirname(path)));
  // Another user can create the folder first. In that case the next path is used. A path with an existing socket has
  // priority, so that all clients find the same socket.
  return (
    own.find(path => statOf(path, lstatSync)) ??
    paths.find(path => own.includes(path) || !statOf(dirname(path), lstatSync)) ??
    paths[0]!
  );
}

/** Creates a folder that only its owner can enter. Throws if somebody else has created it. */
export function ownFolder(folder: string): void {
  const fault = homeFault(folder);
  if (fault) throw unusable(fault);
  try {
    makeWithParents(folder);
    const found = statOfOwn(folder);
    if (found && (found.mode & 0o077) !== 0) chmodSync(folder, 0o700);
  } catch (error) {
    throw unusable(`${folder} cannot be created: ${(error as Error).message}`, error);
  }
  if (!statOfOwn(folder)) throw unusable(`${folder} is not a folder of yours`);
}

/** Why this folder cannot be a home. Null if it can. Does not create it. */
export function homeFault(folder: string): string | null {
  const there = nearestExisting(folder);
  const isThere = there === folder;
  if (!statOf(there)?.isDirectory()) return `${folder} cannot be created: ${there} is not a folder`;
  if (isThere && !statOfOwn(folder)) return `${folder} is not a folder of yours`;
  try {
    accessSync(there, constants.W_OK | constants.X_OK);
    return null;
  } catch {
    return `${folder} cannot be ${isThere ? 'written to' : `created: ${there} is not writable`}`;
  }
}

export const unusable = (message: string, cause?: unknown) =>
  Object.assign(new Error(message, { cause }), {
    code: 'HOME_UNUSABLE',
    suggestions: ['Set SQUAD_HOME to a folder that you own, or fix the permissions of this one.'],
  });

function nearestExisting(path: string): string {
  let there = path;
  while (!statOf(there) && dirname(there) !== there) there = dirname(there);
  return there;
}

/**
 * Creates one level at a time: Node's recursive mkdir never ends in places where no folder can be created, such as
 * /proc.
 */
function makeWithParents(folder: string): void {
  const there = nearestExisting(folder);
  const missing: string[] = [];
  for (let level = folder; level !== there; level = dirname(level)) missing.unshift(level);
  for (const level of missing)
    try {
      mkdirSync(level, { mode: 0o700 });
    } catch (error) {
      // Another Squad process may create the folder at the same moment.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
}

/** Whether nobody else can write into the folder: a socket in it receives the environment of clients. */
export function isOwnFolder(folder: string): boolean {
  const found = statOfOwn(folder);
  return found !== null && (found.mode & 0o022) === 0;
}

/** Follows a link only if the user owns it. */
function statOfOwn(folder: string): Stats | null {
  const { uid } = userInfo();
  if (statOf(folder, lstatSync)?.uid !== uid) return null;
  const found = statOf(folder);
  return found?.isDirectory() && found.uid === uid ? found : null;
}

/** Null when the path does not exist or cannot be read. */
function statOf(path: string, stat: (path: string) => Stats = statSync): Stats | null {
  try {
    return stat(path);
  } catch {
    return null;
  }
}
