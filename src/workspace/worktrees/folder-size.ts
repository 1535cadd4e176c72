import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

const BLOCK = 512;

/** What a folder takes on the disk; what comes or goes meanwhile counts as it is met. Links are not followed. */
export async function folderSize(path: string): Promise<number> {
  const found = await lstat(path).catch(() => null);
  let bytes = (found?.blocks ?? 0) * BLOCK;
  if (!found?.isDirectory()) return bytes;
  for (const name of await readdir(path).catch(() => [])) bytes += await folderSize(join(path, name));
  return bytes;
}
