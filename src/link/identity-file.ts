import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** Content of `squad mcp --identity FILE`: the token of a run, and the home of its hub. */
export interface Identity {
  token: string;
  home: string;
}

/** Name of the identity file in a turn's folder. */
export const IDENTITY_FILE = 'identity.json';

/** Accepts only a file that nobody else can read or write, because it contains a secret that grants rights. */
export function readIdentity(file: string): Identity {
  let fd: number;
  try {
    // O_NONBLOCK: does not wait for a writer if the file is a pipe.
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
    if (!identity) throw unusable(file, 'holds no identity');
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
    suggestions: ['Squad writes this file for each run. Omit --identity for your own clients.'],
  });
