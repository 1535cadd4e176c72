import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/**
 * An agent can put anything in the place of its files. To open a pipe would be to wait for its other end, to follow a
 * link to read what is not the run's: whatever is not a plain file counts as not there.
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

/** What `use` makes of the file's descriptor, or null. */
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
