import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

/** The token HTTP clients show, made once per home: 256 bits in a file only its owner can read. */
export function ownToken(file: string): string {
  try {
    const token = readFileSync(file, 'utf8').trim();
    if (token.length >= 40) return token;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const token = randomBytes(32).toString('base64url');
  writeFileSync(file, `${token}\n`, { mode: 0o600 });
  return token;
}
