import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { replaceFile } from '../link/replace-file.ts';

/** The token of HTTP clients, created once per home: 256 bits in a file that only its owner can read. */
export function ownToken(file: string): string {
  const saved = read(file);
  if (saved !== null && /^[\w-]{43,}$/.test(saved)) {
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
    return saved;
  }
  const token = randomBytes(32).toString('base64url');
  replaceFile(file, `${token}\n`, 0o600);
  return token;
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** A run's token: 256 bits that only its agent has. Squad stores only the hash. */
export function mintToken(): { token: string; hash: string } {
  const token = randomBytes(32).toString('base64url');
  return { token, hash: hashOf(token) };
}

export const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');

/** Finds the run with this token. Compares with all of them, each in constant time. */
export function bearerOf<T extends { tokenHash: string | null }>(runs: Iterable<T>, token: string): T | null {
  const given = Buffer.from(hashOf(token));
  let bearer: T | null = null;
  for (const run of runs) {
    const known = Buffer.from(run.tokenHash ?? '');
    if (known.length === given.length && timingSafeEqual(known, given)) bearer = run;
  }
  return bearer;
}
