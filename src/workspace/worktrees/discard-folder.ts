import { randomBytes } from 'node:crypto';
import { chmod, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

const ASIDE = '.removing-';

/** Out of the way in one step, so that nobody ever sees half of it. It is deleted later, by whoever comes first. Returns where it is. */
export async function moveToTrash(path: string): Promise<string> {
  const aside = join(dirname(path), `${ASIDE}${basename(path)}-${randomBytes(4).toString('hex')}`);
  await rename(path, aside);
  return aside;
}

/** Where it was, or beside that when something else is there by now. Returns where it is. */
export async function moveBack(aside: string, path: string): Promise<string> {
  try {
    await rename(aside, path);
    return path;
  } catch {
    const beside = `${path}-kept-${randomBytes(4).toString('hex')}`;
    await rename(aside, beside);
    return beside;
  }
}

export const isTrash = (name: string): boolean => name.startsWith(ASIDE);

/** Deletes what was moved aside in this folder. What cannot be deleted stays for the next time. */
export async function deleteTrash(folder: string): Promise<void> {
  const names = (await readdir(folder).catch(() => [])).filter(isTrash);
  for (const name of names) await deleteTree(join(folder, name)).catch(() => {});
}

/** Links are removed, never followed. */
async function deleteTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true, maxRetries: 2 });
  } catch {
    // Some tools make folders that may not be written, and nothing can be deleted in those.
    await makeWritable(path);
    await rm(path, { recursive: true, force: true });
  }
}

async function makeWritable(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await makeWritable(join(folder, entry.name));
}
