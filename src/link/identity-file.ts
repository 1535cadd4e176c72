import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** What `squad mcp --identity FILE` reads: whose relay it is, and which hub knows that run. */
export interface Identity {
  token: string;
  home: string;
}

/** The name of the file in a turn's folder. */
export const IDENTITY_FILE = 'identity.json';

/** Only from a file that nobody else can have written or read: what it holds is believed, and is a secret. */
export function readIdentity(file: string): Identity {
  let fd: number;
  try {
    // Not waiting for a writer, should it be a pipe.
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw unusable(file, `cannot be read: ${(error as Error).message}`, error);
  }
  try {
    const { mode, uid } = fstatSync(fd);
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw unusable(file, 'is not a file');
    if (uid !== process.getuid?.()) throw unusable(file, 'belongs to somebody else');
    if ((mode & 0o077) !== 0) throw unusable(file, 'can be read by others');
    const identity = parseIdentity(readFileSync(fd, 'utf8'));
    if (!identity) throw unusable(file, 'does not say who a run is');
    return identity;
  } finally {
    closeSync(fd);
  }
}

export function parseIdentity(text: string): Identity | null {
  try {
    const { token, home } = JSON.parse(text);
    return typeof token === 'string' && typeof home === 'string' ? { token, home } : null;
  } catch {
    return null;
  }
}

const unusable = (file: string, why: string, cause?: unknown) =>
  Object.assign(new Error(`The identity file ${file} ${why}`, { cause }), {
    code: 'INVALID_INPUT',
    suggestions: ['Squad writes it for each run; leave --identity out for a client of your own.'],
  });
