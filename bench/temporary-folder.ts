import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

export const RESULTS = join(import.meta.dirname, 'results');

/**
 * Not in the system's folder for temporary files: where thousands have just been removed, some file systems take forty
 * times as long to make a new one, and no user keeps a home there.
 */
export function temporaryFolder(): string {
  mkdirSync(RESULTS, { recursive: true });
  return realpathSync(mkdtempSync(join(RESULTS, 'tmp-')));
}
