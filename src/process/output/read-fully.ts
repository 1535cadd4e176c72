import type { FileHandle } from 'node:fs/promises';

/** As many bytes as there are of `length` from `from`. */
export async function readFully(file: FileHandle, bytes: Buffer, from: number): Promise<Buffer> {
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, from + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
