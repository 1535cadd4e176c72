import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { replaceFile } from '../../../link/replace-file.ts';
import { SquadError } from '../../../schema/error.ts';

/** Null when there is no such file. */
export function readClientFile(file: string): string | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    if (code === 'EISDIR') throw unusable(file, 'is a folder');
    throw error;
  }
  try {
    // Guessing another encoding would change bytes that are not ours.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw unusable(file, 'is not UTF-8 text');
  }
}

/** Follows links and keeps the file's mode. Dotfiles are often links into a repository: the link stays a link. */
export function writeClientFile(file: string, text: string, modeIfNew: number): void {
  const target = linkTarget(file);
  mkdirSync(dirname(target), { recursive: true });
  const existing = statSync(target, { throwIfNoEntry: false });
  replaceFile(target, text, existing ? existing.mode & 0o7777 : modeIfNew);
}

/** Folders that writing this file would create, innermost first. */
export function missingFolders(file: string): string[] {
  const missing: string[] = [];
  for (let folder = dirname(linkTarget(file)); !existsSync(folder); folder = dirname(folder))
    missing.push(folder);
  return missing;
}

/** False if the folder is missing or not empty. */
export function removeEmptyFolder(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTEMPTY' || code === 'EEXIST') return false;
    throw error;
  }
}

/** Removes the file, not a link to it. */
export const removeClientFile = (file: string): void => rmSync(linkTarget(file));

function linkTarget(file: string, hops = 0): string {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (!found) return file;
  if (!found.isSymbolicLink()) return join(realpathSync(dirname(file)), basename(file));
  if (hops > 40) throw unusable(file, 'is a circular link');
  return linkTarget(resolve(realpathSync(dirname(file)), readlinkSync(file)), hops + 1);
}

const unusable = (file: string, what: string) =>
  new SquadError('CONFIG_INVALID', `${file} ${what}, so Squad does not change it.`, {
    suggestions: ['Move or fix it, then run the command again. Nothing was written.'],
  });
