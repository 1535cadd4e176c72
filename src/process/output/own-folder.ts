import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { chmod, lstat, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { nullIfMissing } from '../../base/missing-file.ts';

/** Creates the folder if necessary and makes sure that it is not a link. Its parent exists. */
export function realFolder(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  if (found) rmSync(path, { force: true });
  mkdirSync(path, { mode: 0o700 });
}

/** Creates folders below a folder that an agent can write to, without following links that the agent has left there. */
export function folderBelow(root: string, name: string): string {
  mkdirSync(dirname(root), { recursive: true, mode: 0o700 });
  realFolder(root);
  let folder = root;
  for (const part of name.split('/').filter(each => each !== '' && each !== '.')) {
    folder = join(folder, part);
    realFolder(folder);
  }
  return folder;
}

/** Replaces a file in a folder that an agent can write to. */
export function writeBelow(root: string, name: string, content: string | Buffer): string {
  const path = join(folderBelow(root, dirname(name)), basename(name));
  rmSync(path, { recursive: true, force: true });
  writeFileSync(path, content, { mode: 0o600, flag: 'wx' });
  return path;
}

/** Linux's O_PATH, which Node has no name for: opens the place, needs no permission to read, and never waits. */
const O_PATH = 0o10000000;

/** Opens a file or folder as the source of a mount. Throws if a link in its path leads elsewhere. Linux only. */
export function openWithoutLinks(path: string): number {
  const fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
  if (!fstatSync(fd).isSymbolicLink() && readlinkSync(`/proc/self/fd/${fd}`) === path) return fd;
  closeSync(fd);
  throw new Error(`a link in ${path} leads elsewhere`);
}

/**
 * Deletes a folder that an agent could write to, even if folders in it have no permissions or are nested very deep.
 * Links are never followed.
 */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true, maxRetries: 2 });
  } catch {
    await removeFlat(path);
  }
}

const MOVED = '.squad-moved-';

/**
 * Moves each folder to the top before it is emptied: a path may be longer than the system takes. Entries may vanish meanwhile,
 * because Node's `rm` continues in other folders after it has failed at one.
 */
async function removeFlat(root: string): Promise<void> {
  let moved = 0;
  for (let names = await opened(root); names.length > 0; names = await opened(root))
    for (const name of names) {
      const path = join(root, name);
      if (!(await isFolder(path))) {
        await rm(path, { force: true });
        continue;
      }
      for (const child of await opened(path)) {
        const below = join(path, child);
        if (!(await isFolder(below))) await rm(below, { force: true });
        else {
          await chmod(below, 0o700).catch(nullIfMissing);
          const place = join(root, `${MOVED}${process.pid}-${Date.now()}-${moved++}`);
          await rename(below, place).catch(nullIfMissing);
        }
      }
      await rmdir(path).catch(nullIfMissing);
    }
  await rmdir(root).catch(nullIfMissing);
}

const isFolder = async (path: string): Promise<boolean> =>
  (await lstat(path).catch(nullIfMissing))?.isDirectory() ?? false;

/** Lists a folder after restoring its permissions, which an agent may have removed. */
async function opened(folder: string): Promise<string[]> {
  await chmod(folder, 0o700).catch(nullIfMissing);
  return (await readdir(folder).catch(nullIfMissing)) ?? [];
}
