import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, rename, rm } from 'node:fs/promises';

const MAX_BYTES = 64 * 1024 * 1024;

/**
 * For files that an agent may have put something else in the place of. Null when it is not there or no plain file: a link
 * may lead anywhere, and to wait for the other end of a pipe would be to wait for ever.
 */
export async function readPlainFile(path: string): Promise<Buffer | null> {
  const how = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
  const file = await open(path, how).catch(() => null);
  if (!file) return null;
  try {
    const found = await file.stat();
    if (!found.isFile()) return null;
    if (found.size > MAX_BYTES) throw new Error(`${path} is too big to be read`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

export const isPlainFile = (path: string): Promise<boolean> =>
  lstat(path).then(
    found => found.isFile(),
    () => false,
  );

/** In the place of whatever is there, and never through it. */
export async function writePlainFile(path: string, bytes: Buffer): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const file = await open(draft, 'wx', 0o644);
  try {
    await file.writeFile(bytes).finally(() => file.close());
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
