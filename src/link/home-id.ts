import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from './replace-file.ts';

export const HOME_ID_FILE = 'home-id';

/** Returns the id of a home. The id distinguishes homes that can reach the same database. */
export function homeId(home: string): string {
  const file = join(home, HOME_ID_FILE);
  if (!existsSync(file)) replaceFile(file, `home_${randomBytes(6).toString('hex')}\n`, 0o600);
  return readFileSync(file, 'utf8').trim();
}
