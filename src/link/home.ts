import { chmodSync, lstatSync, mkdirSync, type Stats, statSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';

type Env = Record<string, string | undefined>;

/** One home is one hub: two `SQUAD_HOME`s never see each other. */
export function homeFolder(env: Env): string {
  if (env.SQUAD_HOME) return resolve(env.SQUAD_HOME);
  return join(env.XDG_STATE_HOME || join(env.HOME || homedir(), '.local', 'state'), 'squad');
}

/** Bytes a socket address holds on macOS, less the closing NUL; Linux has a few more. */
const LONGEST_SOCKET_PATH = 100;

/** For a home too deep to hold a socket. Not the temporary folder: two clients of one user may have set theirs differently. */
const SHORT_FOLDERS = '/tmp';

export function socketPath(home: string): string {
  const plain = join(home, 'hub.sock');
  if (Buffer.byteLength(plain) <= LONGEST_SOCKET_PATH) return plain;
  // Loaded only here: it takes longer than all the rest that `squad mcp` needs to find its hub.
  const { createHash } = process.getBuiltinModule('node:crypto');
  const name = createHash('sha256').update(home).digest('hex').slice(0, 16);
  return join(SHORT_FOLDERS, `squad-${userInfo().uid}`, `${name}.sock`);
}

/** Makes a folder only its owner can enter, and refuses one that somebody else made first. */
export function ownFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw unusable(`${folder} cannot be made: ${(error as Error).message}`, error);
  }
  const found = statOfOwn(folder);
  if (!found) throw unusable(`${folder} is not a folder of yours`);
  if ((found.mode & 0o077) !== 0) chmodSync(folder, 0o700);
}

const unusable = (message: string, cause?: unknown) =>
  Object.assign(new Error(message, { cause }), {
    code: 'HOME_UNUSABLE',
    suggestions: ['Set SQUAD_HOME to a folder that you own, or put this one right.'],
  });

/** Whether nobody else can have put anything into it: what is found there may be trusted with a client's environment. */
export function isOwnFolder(folder: string): boolean {
  const found = statOfOwn(folder);
  return found !== null && (found.mode & 0o022) === 0;
}

/** A link is followed only if it is the user's own. */
function statOfOwn(folder: string): Stats | null {
  const { uid } = userInfo();
  if (lstatSync(folder, { throwIfNoEntry: false })?.uid !== uid) return null;
  const found = statSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() && found.uid === uid ? found : null;
}
