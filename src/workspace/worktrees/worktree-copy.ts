import { constants } from 'node:fs';
import { copyFile, lstat, lutimes, mkdir, readdir, readlink, symlink, utimes } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize, sep } from 'node:path';
import { isInside, realPlace } from '../files/real-place.ts';

export interface CopyOrder {
  /** Paths, from both. */
  paths: readonly string[];
  source: string;
  target: string;
  signal?: AbortSignal;
}

const AT_ONCE = 16;

/**
 * Files and folders as they are, links as links, where nothing is yet: what the commit brought stays. Paths that do not exist
 * are passed over. The message of what it throws follows the path. Returns how much there was to copy.
 */
export async function copyInto({ paths, source, target, signal }: CopyOrder): Promise<number> {
  let count = 0;
  for (const given of paths) {
    const path = judged(given);
    const place = await realPlace(source, join(source, path));
    if ('missing' in place) continue;
    if ('outside' in place) throw new Error(`${given} leads out of the workspace`);
    if ('fault' in place) throw new Error(`${given} ${place.fault}`);
    if (isInside(place.real, target)) throw new Error(`${given} holds the work tree itself`);
    await makeFolders(target, dirname(path), given);
    await copyEntry(join(source, path), join(target, path), signal);
    count++;
  }
  return count;
}

function judged(given: string): string {
  const path = normalize(given).replace(/\/+$/, '');
  const parts = path.split(sep);
  if (isAbsolute(path) || parts.includes('..')) throw new Error(`${given} leads out of the workspace`);
  if (path === '.' || path.includes('\0')) throw new Error(`${given} is not a path in the workspace`);
  if (parts.some(part => part.toLowerCase() === '.git')) throw new Error(`${given} is git's own`);
  return path;
}

/** Folder by folder: one that is a link in the work tree may lead anywhere. */
async function makeFolders(target: string, way: string, given: string): Promise<void> {
  let folder = target;
  await mkdir(folder, { recursive: true });
  for (const part of way === '.' ? [] : way.split(sep)) {
    folder = join(folder, part);
    await mkdir(folder).catch(unlessThere);
    if (!(await lstat(folder)).isDirectory())
      throw new Error(`${given} cannot be copied: ${part} is no folder there`);
  }
}

async function copyEntry(from: string, to: string, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const found = await lstat(from);
  if (found.isDirectory()) {
    await mkdir(to).catch(unlessThere);
    if (!(await lstat(to)).isDirectory()) return;
    const names = await readdir(from);
    for (let at = 0; at < names.length; at += AT_ONCE)
      await Promise.all(
        names.slice(at, at + AT_ONCE).map(name => copyEntry(join(from, name), join(to, name), signal)),
      );
    await utimes(to, found.atime, found.mtime);
  } else if (found.isSymbolicLink()) {
    const isNew = await symlink(await readlink(from), to).then(() => true, unlessThere);
    if (isNew) await lutimes(to, found.atime, found.mtime);
  } else if (found.isFile()) {
    const how = constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE;
    const isNew = await copyFile(from, to, how).then(() => true, unlessThere);
    if (isNew) await utimes(to, found.atime, found.mtime);
  }
}

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
