import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

const MAX_BYTES = 1024 * 1024;

/**
 * A file that an agent may have written. `unfit`: it is no plain file (to wait for the other end of a pipe would be to wait for
 * ever), too big, or not for us to read.
 */
export async function readBounded(path: string): Promise<Buffer | 'missing' | 'unfit'> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(whyNot);
  if (typeof file === 'string') return file;
  try {
    const found = await file.stat();
    if (!found.isFile() || found.size > MAX_BYTES) return 'unfit';
    const buffer = Buffer.alloc(found.size);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } catch {
    return 'unfit';
  } finally {
    await file.close();
  }
}

/** What was appended to such a file, as far as it is not too much; null where there is none. */
export async function readFrom(path: string, offset: number): Promise<string | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => null);
  if (!file) return null;
  try {
    const found = await file.stat();
    if (!found.isFile()) return null;
    const buffer = Buffer.alloc(Math.max(0, Math.min(found.size - offset, MAX_BYTES)));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

const whyNot = (thrown: NodeJS.ErrnoException): 'missing' | 'unfit' =>
  thrown.code === 'ENOENT' || thrown.code === 'ENOTDIR' ? 'missing' : 'unfit';
