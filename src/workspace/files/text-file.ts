import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { relative, resolve, sep } from 'node:path';
import { asSquadError, SquadError } from '../../schema/error.ts';

const MAX_TEXT_BYTES = 1024 * 1024;

export type TextFile = { text: string } | { missing: true } | { fault: string };

/** A small file that people write: UTF-8, without its byte order mark. Never waits on a pipe or a device. */
export async function readTextFile(file: string, maxBytes = MAX_TEXT_BYTES): Promise<TextFile> {
  const read = await readSmallFile(file, maxBytes);
  return 'bytes' in read ? decode(read.bytes) : read;
}

/** The same, whatever is in it. */
export async function readSmallFile(
  file: string,
  maxBytes = MAX_TEXT_BYTES,
): Promise<{ bytes: Buffer } | Exclude<TextFile, { text: string }>> {
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const info = await handle.stat();
      if (!info.isFile()) return { fault: info.isDirectory() ? 'is a folder' : 'is not a regular file' };
      if (info.size > maxBytes) return { fault: `is ${info.size} bytes; at most ${maxBytes} are read` };
      return { bytes: await handle.readFile() };
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { missing: true };
    if (code === 'EACCES' || code === 'EPERM') return { fault: 'cannot be read: permission denied' };
    if (code === 'ELOOP') return { fault: 'is a symbolic link that leads to itself' };
    return { fault: `cannot be read: ${code ?? String(thrown)}` };
  }
}

function decode(bytes: Buffer): TextFile {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? { fault: 'holds a NUL character' } : { text };
  } catch {
    return { fault: 'is not UTF-8 text' };
  }
}

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

const MAX_PLAIN_BYTES = 64 * 1024 * 1024;

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
    if (found.size > MAX_PLAIN_BYTES) throw new Error(`${path} is too big to be read`);
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

/** An error of a write, with the name of the file: the system does not name one that is open. */
export function unwritten(file: string, thrown: unknown): SquadError {
  if (thrown instanceof SquadError) return thrown;
  const { code, message, suggestions } = asSquadError(thrown);
  return new SquadError(code, `${file} cannot be written. ${message}`, { suggestions, cause: thrown });
}

/** A text file that must lie inside a folder, links resolved. The message of what it throws follows the file's name. */
export async function readInside(root: string, file: string, largest: number): Promise<string> {
  const path = await realpath(resolve(root, file)).catch((error: NodeJS.ErrnoException) => {
    throw new Error(error.code === 'ENOENT' ? 'does not exist' : `cannot be read: ${error.message}`);
  });
  const inside = relative(await realpath(root), path);
  if (inside === '..' || inside.startsWith(`..${sep}`)) throw new Error('lies outside the workspace');
  const { size, isFile } = await stat(path).then(found => ({ size: found.size, isFile: found.isFile() }));
  if (!isFile) throw new Error('is not a file');
  if (size > largest) throw new Error(`is larger than ${largest} bytes`);
  return readFile(path, 'utf8');
}
