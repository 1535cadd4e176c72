import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

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
