import { randomBytes } from 'node:crypto';
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { replaceFile } from '../link/replace-file.ts';

/** The token HTTP clients show, made once per home: 256 bits in a file only its owner can read. */
export function ownToken(file: string): string {
  const kept = read(file);
  if (kept !== null && /^[\w-]{43,}$/.test(kept)) {
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
    return kept;
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
