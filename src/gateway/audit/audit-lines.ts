import { type FileHandle, open } from 'node:fs/promises';
import { LONGEST_LINE } from './audit-chain.ts';
import { auditDisk } from './audit-disk.ts';
import { currentFile, olderFiles } from './audit-files.ts';

const CHUNK = 256 * 1024;
const NEWLINE = 0x0a;

export interface ReadLine {
  bytes: Buffer;
  /** False: the file ends before the line does. */
  isWhole: boolean;
}

/** Read in pieces, so that neither a large file nor a line without an end fills the memory. */
export async function* linesOf(file: FileHandle): AsyncGenerator<ReadLine> {
  const buffer = Buffer.allocUnsafe(CHUNK);
  let rest = Buffer.alloc(0);
  for (let position = 0; ; ) {
    const { bytesRead } = await file.read(buffer, 0, CHUNK, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    const chunk = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
    let from = 0;
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      yield { bytes: chunk.subarray(from, to), isWhole: true };
      from = to + 1;
    }
    rest = chunk.subarray(from, from + LONGEST_LINE);
  }
  if (rest.length > 0) yield { bytes: rest, isWhole: false };
}

/** From the last whole line to the first. */
export async function* linesBackwards(file: FileHandle): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  let isAfterEnd = true;
  for (let position = (await file.stat()).size; position > 0; ) {
    const length = Math.min(CHUNK, position);
    position -= length;
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
    const chunk = Buffer.concat([buffer.subarray(0, bytesRead), rest]);
    let to = chunk.length;
    while (to > 0) {
      const at = chunk.lastIndexOf(NEWLINE, to - 1);
      if (at < 0) break;
      if (!isAfterEnd) yield chunk.subarray(at + 1, to);
      isAfterEnd = false;
      to = at;
    }
    rest = chunk.subarray(Math.max(0, to - LONGEST_LINE), to);
  }
  if (!isAfterEnd) yield rest;
}

/**
 * Calls `work` with each file of a log that may be at work, until it says it is done. The current one is opened first: should
 * it be put aside meanwhile, it is still the one that was meant. Returns how many files there are.
 */
export async function eachFile(
  folder: string,
  order: 'oldest first' | 'newest first',
  work: (file: FileHandle, path: string) => Promise<'done' | 'more'>,
): Promise<number> {
  const current = await open(currentFile(folder), 'r').catch(nullIfMissing);
  try {
    const paths = await olderThan(current, folder);
    if (current) paths.push(currentFile(folder));
    for (const path of order === 'oldest first' ? paths : paths.toReversed()) {
      const isCurrent = path === currentFile(folder);
      const file = isCurrent && current ? current : await open(path, 'r');
      const wish = await work(file, path).finally(() => isCurrent || file.close());
      if (wish === 'done') break;
    }
    return paths.length;
  } finally {
    await current?.close();
  }
}

async function olderThan(current: FileHandle | null, folder: string): Promise<string[]> {
  const inode = (await current?.stat())?.ino;
  const paths: string[] = [];
  for (const path of await olderFiles(auditDisk, folder))
    if ((await auditDisk.stat(path))?.inode !== inode) paths.push(path);
  return paths;
}

function nullIfMissing(thrown: NodeJS.ErrnoException): null {
  if (thrown.code === 'ENOENT') return null;
  throw thrown;
}
