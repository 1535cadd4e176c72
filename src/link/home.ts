import { createHash } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { homedir, tmpdir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';

type Env = Record<string, string | undefined>;

/** One home is one hub: two `SQUAD_HOME`s never see each other. */
export function homeFolder(env: Env): string {
  if (env.SQUAD_HOME) return resolve(env.SQUAD_HOME);
  return join(env.XDG_STATE_HOME || join(env.HOME || homedir(), '.local', 'state'), 'squad');
}

/** Bytes a socket address holds on macOS, less the closing NUL; Linux has a few more. */
const LONGEST_SOCKET_PATH = 100;

export function socketPath(home: string): string {
  const plain = join(home, 'hub.sock');
  if (Buffer.byteLength(plain) <= LONGEST_SOCKET_PATH) return plain;
  const name = createHash('sha256').update(home).digest('hex').slice(0, 16);
  return join(tmpdir(), `squad-${userInfo().uid}`, `${name}.sock`);
}

/** Makes a folder only its owner can enter, and refuses one that somebody else made first. */
export function ownFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== userInfo().uid)
    throw Object.assign(new Error(`${folder} is not a folder of yours`), { code: 'HOME_UNUSABLE' });
  if ((found.mode & 0o077) !== 0) chmodSync(folder, 0o700);
}
