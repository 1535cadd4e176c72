import { randomBytes } from 'node:crypto';
import { chmod, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

const TRASH = '.removing-';

/** Renames a folder, so that nobody ever sees half of it; the next `deleteTrash` deletes it. Returns its new path. */
export async function moveToTrash(path: string): Promise<string> {
  const trash = join(dirname(path), `${TRASH}${basename(path)}-${randomBytes(4).toString('hex')}`);
  await rename(path, trash);
  return trash;
}

/** Puts it back, under another name if its path is taken by now. Returns its path. */
export async function moveBack(trash: string, path: string): Promise<string> {
  try {
    await rename(trash, path);
    return path;
  } catch {
    const kept = `${path}-kept-${randomBytes(4).toString('hex')}`;
    await rename(trash, kept);
    return kept;
  }
}

export const isTrash = (name: string): boolean => name.startsWith(TRASH);

/** Files that cannot be deleted now stay for the next time. */
export async function deleteTrash(folder: string): Promise<void> {
  const names = (await readdir(folder).catch(() => [])).filter(isTrash);
  for (const name of names) await deleteTree(join(folder, name)).catch(() => {});
}

/** Links are removed, never followed. */
async function deleteTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true, maxRetries: 2 });
  } catch {
    // Some tools make read-only folders, and nothing can be deleted in those.
    await makeWritable(path);
    await rm(path, { recursive: true, force: true });
  }
}

async function makeWritable(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await makeWritable(join(folder, entry.name));
}
