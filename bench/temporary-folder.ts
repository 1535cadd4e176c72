import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export const RESULTS = join(import.meta.dirname, 'results');

/**
 * Creates a folder outside the system's temporary folder. After thousands of files were removed from a folder, some
 * file systems take forty times as long to create a new file there. The folder is also outside this repository, because
 * Squad would take snapshots of it for each agent.
 */
export function temporaryFolder(): string {
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'squad-bench');
  mkdirSync(folder, { recursive: true });
  return realpathSync(mkdtempSync(join(folder, 'tmp-')));
}
