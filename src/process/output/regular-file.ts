import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';

/**
 * An agent can replace its files by anything. Opening a pipe would block, and following a link would read files of
 * others. Therefore everything except a regular file counts as missing.
 */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
const NOT_THERE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EMLINK', 'ENXIO']);

export async function openRegular(path: string): Promise<FileHandle | null> {
  const file = await open(path, FLAGS).catch(notThere);
  if (!file) return null;
  const isFile = await file.stat().then(
    stat => stat.isFile(),
    () => false,
  );
  if (isFile) return file;
  await file.close();
  return null;
}

/**
 * Opens a regular file below one of Squad's folders. Neither a symbolic link in any part of the path nor a hard link
 * is accepted, because both may lead elsewhere. The check comes after opening, so that a replacement in between is
 * noticed.
 */
export async function openUnlinked(root: string, path: string): Promise<FileHandle | 'absent' | 'linked'> {
  if ((await lstat(path).catch(notThere)) === null) return 'absent';
  const file = await openRegular(path);
  if (!file) return 'linked';
  try {
    const opened = await file.stat({ bigint: true });
    const expected = join(await realpath(root), relative(root, path));
    const there = await lstat(expected, { bigint: true });
    const isSame = there.ino === opened.ino && there.dev === opened.dev;
    if (isSame && opened.nlink === 1n && (await realpath(path)) === expected) return file;
  } catch {
    // The file was moved or removed while it was opened, so the opened file is not the requested one.
  }
  await file.close();
  return 'linked';
}

/** Calls `use` with the file's descriptor. Null if there is no regular file. */
export function withRegular<T>(path: string, use: (fd: number) => T): T | null {
  let fd: number;
  try {
    fd = openSync(path, FLAGS);
  } catch (error) {
    return notThere(error as NodeJS.ErrnoException);
  }
  try {
    return fstatSync(fd).isFile() ? use(fd) : null;
  } finally {
    closeSync(fd);
  }
}

export const readRegular = (path: string): string | null => withRegular(path, fd => readFileSync(fd, 'utf8'));

function notThere(error: NodeJS.ErrnoException): null {
  if (error.code && NOT_THERE.has(error.code)) return null;
  throw error;
}

/** Fills the buffer from this position, or with as much as the file has. */
export async function readFully(file: FileHandle, bytes: Buffer, from: number): Promise<Buffer> {
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, from + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
