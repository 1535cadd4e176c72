import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** `review.subagent.yaml`, or `review.cpe.yaml` as CPE calls them. */
const SUBAGENT_FILE = /^[^.].*\.(subagent|cpe)\.ya?ml$/;

const DEEPEST = 6;
const MOST = 200;

/** Every subagent's file in a folder and below it, sorted; not in hidden folders, nor in what was installed there. */
export async function subagentFilesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  await look(folder, 0, found);
  return found.sort().slice(0, MOST);
}

async function look(folder: string, depth: number, found: string[]): Promise<void> {
  // A folder that cannot be read has none that could be used.
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (found.length >= MOST) return;
    const path = join(folder, entry.name);
    if (entry.isFile() && SUBAGENT_FILE.test(entry.name)) found.push(path);
    const isLookedInto = entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules';
    if (isLookedInto && depth < DEEPEST) await look(path, depth + 1, found);
  }
}
