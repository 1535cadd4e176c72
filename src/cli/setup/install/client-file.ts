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
import { setTimeout as pause } from 'node:timers/promises';
import { replaceFile } from '../../../link/replace-file.ts';
import { SquadError } from '../../../schema/error.ts';

/** Null if the file does not exist. */
export function readClientFile(file: string): string | null {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (!found) return null;
    if (found.isDirectory()) throw unusable(file, 'is a folder');
    // Reading a pipe would wait for its writer.
    if (!found.isFile()) throw unusable(file, 'is not a file');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOOP') throw error;
    throw unusable(file, 'is a circular link');
  }
  const bytes = readFileSync(file);
  try {
    // Only UTF-8 is accepted. Guessing another encoding would change bytes that do not belong to Squad.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw unusable(file, 'is not UTF-8 text');
  }
}

/** Follows links and keeps the file's mode. Dotfiles are often links into a repository, and must stay links. */
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

/** Returns false if the folder is missing or not empty. */
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

/** Removes the file itself, not a link to it. */
export const removeClientFile = (file: string): void => rmSync(linkTarget(file));

function linkTarget(file: string): string {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (!found) return file;
  if (!found.isSymbolicLink()) return join(realpathSync(dirname(file)), basename(file));
  return linkTarget(resolve(realpathSync(dirname(file)), readlinkSync(file)));
}

/** A crashed client leaves its lock behind. Claude Code itself takes over a lock of this age. */
const STALE_LOCK_MS = 10_000;
const LOCK_TIMEOUT_MS = 15_000;

/**
 * Runs `work` while this process holds the lock that the client itself takes for every change of its file: a folder,
 * because `mkdir` is atomic everywhere. A client that reads, changes and replaces the file meanwhile would undo the
 * change. `work` takes milliseconds, so the lock need not be renewed.
 */
export async function withClientLock<T>(lock: string | null, work: () => T): Promise<T> {
  if (lock === null || !(await takeLock(lock))) return work();
  try {
    return work();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

async function takeLock(lock: string): Promise<boolean> {
  for (const end = performance.now() + LOCK_TIMEOUT_MS; ; await pause(10)) {
    try {
      mkdirSync(dirname(lock), { recursive: true });
      mkdirSync(lock);
      return true;
    } catch (error) {
      // In a folder that cannot be written, writing the file fails with an error of its own.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
    }
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - since > STALE_LOCK_MS) rmSync(lock, { recursive: true, force: true });
    else if (performance.now() > end)
      throw new SquadError(
        'CONFIG_INVALID',
        `The client has locked its configuration (${lock}), so nothing was written.`,
        {
          suggestions: ['Close the client, then run the command again.'],
        },
      );
  }
}

const unusable = (file: string, what: string) =>
  new SquadError('CONFIG_INVALID', `${file} ${what}, so Squad does not change it.`, {
    suggestions: ['Move or fix it, then run the command again. Nothing was written.'],
  });
