import { randomBytes } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { lstat, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { nullIfMissing } from '../../base/missing-file.ts';
import { asSquadError, SquadError } from '../../schema/error.ts';
import { isInside } from './paths.ts';

const MAX_TEXT_BYTES = 1024 * 1024;

export type TextFile = { text: string } | { missing: true } | { fault: string };

/**
 * Reads a small text file that people write: UTF-8, without its byte order mark. Never blocks on a pipe or a device.
 */
export async function readTextFile(file: string, maxBytes = MAX_TEXT_BYTES): Promise<TextFile> {
  const read = await readSmallFile(file, maxBytes);
  return 'bytes' in read ? decode(read.bytes) : read;
}

/** Like `readTextFile`, for any content. */
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
      // `readFile` is not used, because the file may grow meanwhile.
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(info.size), 0, info.size, 0);
      return { bytes: buffer.subarray(0, bytesRead) };
    } finally {
      // Closes a file that was only read, without making anybody wait for it.
      handle.close().catch(() => {});
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

/**
 * Reads a file that an agent may have written. `unfit` means that it is not a regular file, too big, or not readable.
 * Synchronous, because the start of an agent waits for several such files. Reading takes microseconds, while a thread
 * switch takes long on a busy hub.
 */
export function readBounded(path: string): Buffer | 'missing' | 'unfit' {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const info = fstatSync(fd);
      if (!info.isFile() || info.size > MAX_TEXT_BYTES) return 'unfit';
      const buffer = Buffer.alloc(info.size);
      return buffer.subarray(0, readSync(fd, buffer, 0, info.size, 0));
    } finally {
      closeSync(fd);
    }
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : 'unfit';
  }
}

/** Reads text that was appended to a file, up to a limit. Null if there is no such file. */
export async function readFrom(path: string, offset: number): Promise<string | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => null);
  if (!file) return null;
  try {
    const found = await file.stat();
    if (!found.isFile()) return null;
    const buffer = Buffer.alloc(Math.max(0, Math.min(found.size - offset, MAX_TEXT_BYTES)));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

const MAX_PLAIN_BYTES = 64 * 1024 * 1024;

/**
 * Reads a file that an agent may have replaced. Null if it does not exist or is not a regular file, because a link
 * may lead anywhere and a pipe may never end.
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

interface ReplaceOptions {
  /** Permissions of a new file. */
  mode: number;
  /** If true, an existing file keeps its permissions. */
  keepsMode?: boolean;
  /** Whether the file must be on disk before the promise settles (default: true). */
  sync?: boolean;
}

/**
 * Atomic: a reader, also after a crash, finds either the old content or the new. Replaces whatever is at the path,
 * and never follows a link.
 */
export async function replaceFile(
  path: string,
  content: Buffer | string,
  { mode, keepsMode = false, sync = true }: ReplaceOptions,
): Promise<void> {
  const draft = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`);
  const before = keepsMode ? await lstat(path).catch(nullIfMissing) : null;
  try {
    const file = await open(draft, 'wx', mode);
    try {
      if (before) await file.chmod(before.mode & 0o777);
      await file.writeFile(content);
      if (sync) await file.datasync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (thrown) {
    await rm(draft, { force: true }).catch(() => {}); // an error here is ignored, because only the first error matters
    throw thrown;
  }
}

/** Replaces a small file of Squad's own without `fsync`. After a crash that loses it, Squad writes it again. */
export const writePlainFile = (path: string, bytes: Buffer): Promise<void> =>
  replaceFile(path, bytes, { mode: 0o644, sync: false });

/** Creates a file. Returns false if something with the same name already exists. */
export async function createFile(
  path: string,
  content: string,
  { mode, sync = true }: Omit<ReplaceOptions, 'keepsMode'>,
): Promise<boolean> {
  const file = await open(path, 'wx', mode).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'EEXIST') return null;
    throw thrown;
  });
  if (!file) return false;
  try {
    await file.writeFile(content);
    if (sync) await file.sync();
    return true;
  } catch (thrown) {
    await rm(path, { force: true });
    throw thrown;
  } finally {
    await file.close();
  }
}

/** Adds the file's name to an error of a write, because the system does not name an open file. */
export function unwritten(file: string, thrown: unknown): SquadError {
  if (thrown instanceof SquadError) return thrown;
  const { code, message, suggestions } = asSquadError(thrown);
  return new SquadError(code, `${file} cannot be written. ${message}`, { suggestions, cause: thrown });
}

/**
 * Reads a text file that must be inside a folder after resolving links. Error messages are written to follow the
 * file's name.
 */
export async function readInside(root: string, file: string, maxBytes: number): Promise<string> {
  const path = await realpath(resolve(root, file)).catch((error: NodeJS.ErrnoException) => {
    throw new Error(error.code === 'ENOENT' ? 'does not exist' : `cannot be read: ${error.message}`);
  });
  if (!isInside(await realpath(root), path)) throw new Error('lies outside the workspace');
  const found = await stat(path);
  if (!found.isFile()) throw new Error('is not a file');
  if (found.size > maxBytes) throw new Error(`is larger than ${maxBytes} bytes`);
  return readFile(path, 'utf8');
}
