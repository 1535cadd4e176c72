import { createHash } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { lstat, open, readlink } from 'node:fs/promises';
import { pathBytes } from './paths.ts';

/**
 * Changes with any write, replacement or change of permissions, because no program can set a file's change time back.
 */
export const stampOf = ({ mode, size, mtimeNs, ctimeNs, ino }: BigIntStats): string =>
  [mode, size, mtimeNs, ctimeNs, ino].map(each => each.toString(36)).join('.');

/** Null if the file does not exist or cannot be read. */
export const statWorkFile = (root: string, path: string): Promise<BigIntStats | null> =>
  lstat(pathBytes(root, path), { bigint: true }).catch(() => null);

/**
 * Content of a regular file or target of a link. Null for anything else, for more than `limit` bytes, and for
 * unreadable files.
 */
export async function readWorkFile(root: string, path: string, limit: number): Promise<Buffer | null> {
  const name = pathBytes(root, path);
  const file = await open(name, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW).catch(
    () => null,
  );
  if (!file) return readlink(name, { encoding: 'buffer' }).catch(() => null);
  try {
    const stat = await file.stat();
    if (!stat.isFile() || stat.size > limit) return null;
    const buffer = Buffer.alloc(stat.size);
    const { bytesRead } = await file.read(buffer, 0, stat.size, 0);
    return buffer.subarray(0, bytesRead);
  } catch {
    return null;
  } finally {
    await file.close();
  }
}

/** Hash of content and permissions. It stays the same when a file is rewritten unchanged. */
export async function hashWorkFile(root: string, path: string, stat: BigIntStats): Promise<string | null> {
  const content = await readWorkFile(root, path, Number(stat.size));
  if (!content) return null;
  return createHash('sha256').update(`${stat.mode}\0`).update(content).digest('base64url');
}

/** Uses git's rule for binary files. */
export const isBinary = (content: Buffer): boolean => content.subarray(0, 8000).includes(0);

/** Calls `work` for each item, a few at a time, because the system refuses a thousand open files at once. */
export async function eachOf<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  atOnce = 16,
): Promise<R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at]!);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}
