import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export const RESULTS = join(import.meta.dirname, 'results');

/**
 * Not in the system's folder for temporary files: where thousands have just been removed, some file systems take forty
 * times as long to make a new one, and no user keeps a home there. And not in this repository: Squad looks at the state of
 * the repository an agent works in, and this one would be it.
 */
export function temporaryFolder(): string {
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'squad-bench');
  mkdirSync(folder, { recursive: true });
  return realpathSync(mkdtempSync(join(folder, 'tmp-')));
}
