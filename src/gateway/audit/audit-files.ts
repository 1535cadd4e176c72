import { mkdir, open, readdir, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { AuditEntry } from '../../core/ports/gateway.ts';
import { checkLine, type Link, START } from './audit-chain.ts';

/** The file that is written to. Rotated files are named after the number of their first line. */
export const currentFile = (folder: string) => join(folder, 'audit.jsonl');
export const headFile = (folder: string) => join(folder, 'audit.head');
export const olderFile = (folder: string, firstSeq: number) => join(folder, `audit-${firstSeq}.jsonl`);

/** Rotated files in the order they were written. */
export async function olderFiles(disk: Pick<AuditDisk, 'list'>, folder: string): Promise<string[]> {
  const firsts = (await disk.list(folder)).flatMap(name => {
    const number = /^audit-([1-9][0-9]{0,15})\.jsonl$/.exec(name)?.[1];
    return number === undefined ? [] : Number(number);
  });
  return firsts.sort((a, b) => a - b).map(first => olderFile(folder, first));
}

/** The file operations of the audit log, so that a test can make any one of them fail. */
export interface AuditDisk {
  /** For reading and writing. Creates the file and its folder, for the user only. */
  open(path: string): Promise<DiskFile>;
  /** Null: no such file. */
  stat(path: string): Promise<{ size: number; inode: number } | null>;
  /** Empty when there is no such folder. */
  list(folder: string): Promise<string[]>;
  rename(from: string, to: string): Promise<void>;
}

export interface DiskFile {
  inode: number;
  size(): Promise<number>;
  /** May return fewer bytes, at the end of the file. */
  read(position: number, length: number): Promise<Buffer>;
  /** Returns how many bytes were written: a disk that fills up takes some of them. */
  write(bytes: Buffer, position: number): Promise<number>;
  truncate(size: number): Promise<void>;
  datasync(): Promise<void>;
  close(): Promise<void>;
}

export const auditDisk: AuditDisk = {
  async open(path) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const isNew = (await auditDisk.stat(path)) === null;
    // Not in append mode: there the system ignores positions, and a half-written line could not be overwritten.
    const handle = await open(path, isNew ? 'wx+' : 'r+', 0o600);
    if (isNew) await syncFolder(dirname(path));
    return {
      inode: (await handle.stat()).ino,
      size: async () => (await handle.stat()).size,
      async read(position, length) {
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
        return buffer.subarray(0, bytesRead);
      },
      write: async (bytes, position) => (await handle.write(bytes, 0, bytes.length, position)).bytesWritten,
      truncate: size => handle.truncate(size),
      datasync: () => handle.datasync(),
      close: () => handle.close(),
    };
  },
  async stat(path) {
    const found = await stat(path).catch(nullIfMissing);
    return found && { size: found.size, inode: found.ino };
  },
  list: async folder => (await readdir(folder).catch(nullIfMissing)) ?? [],
  async rename(from, to) {
    await rename(from, to);
    await syncFolder(dirname(to));
  },
};

/** Without this a new or renamed file may be gone after a power cut, with everything in it. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export function nullIfMissing(thrown: NodeJS.ErrnoException): null {
  if (thrown.code === 'ENOENT') return null;
  throw thrown;
}

/** The files that an open log holds. */
export interface LogFiles {
  file: DiskFile;
  head: DiskFile;
}

export async function openFiles(disk: AuditDisk, folder: string): Promise<LogFiles> {
  const file = await disk.open(currentFile(folder));
  try {
    return { file, head: await disk.open(headFile(folder)) };
  } catch (thrown) {
    await file.close().catch(() => {}); // `thrown` says why
    throw thrown;
  }
}

export async function closeFiles({ file, head }: LogFiles): Promise<void> {
  await Promise.all([file.close(), head.close()]);
}

/** The end of the log as it was last known to be on disk. Without it, nobody would miss lines removed from the end. */
export interface Head extends Link {
  /** The log was closed in order: no line comes after this one. */
  isLast: boolean;
}

/** Always the same length, so that one write replaces it. */
const headText = ({ seq, hash, isLast }: Head) =>
  `${String(seq).padStart(16, '0')} ${hash} ${isLast ? 'closed' : 'open  '}\n`;
export const HEAD_LENGTH = 16 + 1 + 64 + 1 + 6 + 1;

export async function writeHead(file: DiskFile, head: Head): Promise<void> {
  const bytes = Buffer.from(headText(head));
  if ((await file.write(bytes, 0)) < bytes.length) throw new Error('audit.head was written in part only');
}

export const readHead = async (file: DiskFile): Promise<Head | null> =>
  parseHead((await file.read(0, HEAD_LENGTH + 1)).toString());

/** Null: the text is empty, or not one of our heads. */
export function parseHead(text: string): Head | null {
  const parts = /^(\d{16}) ([0-9a-f]{64}) (open {2}|closed)\n$/.exec(text);
  return parts && { seq: Number(parts[1]), hash: parts[2]!, isLast: parts[3] === 'closed' };
}

/** More than one write, so that it covers whatever a killed hub left of its last one. */
const TAIL = 1024 * 1024;
const NEWLINE = 0x0a;

interface Recovered {
  /** Chain position for the next line. */
  link: Link;
  /** Size of the file without an incomplete last line. */
  size: number;
  /** Problems found, to be logged first. */
  repairs: AuditEntry[];
}

/**
 * Finds the end of a log, however the last hub left it. Changes nothing. An incomplete last line does not count: a hub was killed
 * while it wrote. If lines are missing or differ from what the head says, the chain continues from the head, so that verification
 * finds the break for ever.
 */
export async function recoverEnd(
  disk: AuditDisk,
  folder: string,
  file: DiskFile,
  head: Head | null,
): Promise<Recovered> {
  const repairs: AuditEntry[] = [];
  const whole = await file.size();
  const size = await sizeOfWholeLines(file, whole);
  if (size < whole) repairs.push(repair(`an incomplete last line of ${whole - size} bytes was cut off`));

  const last = (await lastLine(file, size)) ?? (await lastOfOlder(disk, folder));
  if (head === null) {
    if (last === null) return { link: START, size, repairs };
    repairs.push(repair('audit.head is not there or not readable: whether the end is there is not known'));
    return { link: last === 'broken' ? START : last, size, repairs };
  }
  const end = last ?? START;
  if (end !== 'broken' && isAfter(end, head)) return { link: end, size, repairs };
  repairs.push(repair(`the log does not end as it was left, with line ${head.seq}`));
  return { link: head, size, repairs };
}

/** A killed hub may have written more lines than its head says; a hub that ended in order has not. */
const isAfter = (end: Link, head: Head) =>
  end.seq === head.seq ? end.hash === head.hash : end.seq > head.seq && !head.isLast;

export const repair = (name: string): AuditEntry => ({
  ...{ runId: null, roleId: null, workspace: '', server: null },
  kind: 'repair',
  name,
  decision: 'allowed',
  outcome: 'ok',
});

async function sizeOfWholeLines(file: DiskFile, size: number): Promise<number> {
  const tail = await file.read(Math.max(0, size - TAIL), Math.min(size, TAIL));
  const incomplete = tail.length - 1 - tail.lastIndexOf(NEWLINE);
  // No line end in the whole tail: Squad did not write this, so it does not remove it.
  return incomplete === TAIL ? size : size - incomplete;
}

/** Null: the file is empty. */
async function lastLine(file: DiskFile, size: number): Promise<Link | 'broken' | null> {
  if (size === 0) return null;
  const tail = await file.read(Math.max(0, size - TAIL), Math.min(size, TAIL));
  if (tail.at(-1) !== NEWLINE) return 'broken';
  const line = checkLine(tail.subarray(tail.lastIndexOf(NEWLINE, tail.length - 2) + 1, -1));
  return typeof line === 'string' ? 'broken' : line;
}

/** The current file is empty for a moment after each rotation. */
async function lastOfOlder(disk: AuditDisk, folder: string): Promise<Link | 'broken' | null> {
  const newest = (await olderFiles(disk, folder)).at(-1);
  if (newest === undefined) return null;
  const file = await disk.open(newest);
  try {
    return await lastLine(file, await file.size());
  } finally {
    await file.close();
  }
}
