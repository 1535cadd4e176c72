import {
  type BigIntStats,
  linkSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { stampOf } from '../files/file-stamp.ts';
import { pathBytes } from '../files/paths.ts';

// Nothing here waits between looking and acting: others save to these files meanwhile.

export const look = (file: Buffer): BigIntStats | null => {
  try {
    return lstatSync(file, { bigint: true });
  } catch {
    return null;
  }
};

/** A rename changes the change time, and nothing of this. */
export const isSameFile = (one: BigIntStats | null, other: BigIntStats): boolean =>
  one !== null &&
  one.ino === other.ino &&
  one.size === other.size &&
  one.mtimeNs === other.mtimeNs &&
  one.mode === other.mode;

/**
 * Takes a file out of a folder to the same path in another, as long as it is what was seen: true when it is out. Saved to at
 * the last moment, it goes back; if another is at its place by then, it is out, and not like what was seen.
 */
export function removeIfUnchanged(
  root: string,
  path: string,
  { seen, into, isOut = () => {} }: { seen: BigIntStats; into: string; isOut?: () => void },
): boolean {
  const [file, out] = [pathBytes(root, path), pathBytes(into, path)];
  try {
    if (!hasFolders(root, path) || !hasFolders(into, path, 'make')) return false;
    const now = look(file);
    if (!now || stampOf(now) !== stampOf(seen)) return false;
    renameSync(file, out);
  } catch {
    return false;
  }
  isOut();
  return isSameFile(look(out), seen) || !placeIfAbsent(root, path, out);
}

/** Puts a file where there is none, never over another: false when there is one, or it cannot be put there. */
export function placeIfAbsent(root: string, path: string, file: Buffer): boolean {
  const target = pathBytes(root, path);
  try {
    if (!hasFolders(root, path, 'make')) return false;
    if (lstatSync(file).isSymbolicLink()) symlinkSync(readlinkSync(file, { encoding: 'buffer' }), target);
    else linkSync(file, target);
  } catch (thrown) {
    const { code = '' } = thrown as NodeJS.ErrnoException;
    return NO_LINKS.has(code) && !look(target) && succeeds(() => renameSync(file, target));
  }
  succeeds(() => unlinkSync(file));
  return true;
}

/** Not every disk has links, and of a folder there are none. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

function succeeds(act: () => void): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}

/** Whether folders, and no links to others, lead to a path. */
function hasFolders(root: string, path: string, make?: 'make'): boolean {
  const folder = dirname(path);
  if (folder === '.') return true;
  if (!hasFolders(root, folder, make)) return false;
  const found = look(pathBytes(root, folder));
  if (found || !make) return found?.isDirectory() ?? false;
  mkdirSync(pathBytes(root, folder));
  return true;
}
