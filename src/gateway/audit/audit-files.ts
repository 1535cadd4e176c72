import { mkdir, open, readdir, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { AuditEntry } from '../../core/ports/gateway.ts';
import { checkLine, type Link, START } from './audit-chain.ts';

/** What is being written to; older ones are named by the number of their first line. */
export const currentFile = (folder: string) => join(folder, 'audit.jsonl');
export const headFile = (folder: string) => join(folder, 'audit.head');
export const olderFile = (folder: string, firstSeq: number) => join(folder, `audit-${firstSeq}.jsonl`);

/** In the order they were written, without the current one. */
export async function olderFiles(disk: Pick<AuditDisk, 'list'>, folder: string): Promise<string[]> {
  const firsts = (await disk.list(folder)).flatMap(name => {
    const number = /^audit-([1-9][0-9]{0,15})\.jsonl$/.exec(name)?.[1];
    return number === undefined ? [] : Number(number);
  });
  return firsts.sort((a, b) => a - b).map(first => olderFile(folder, first));
}

/** The few things the audit log does with files, so that a test can make any one of them fail. */
export interface AuditDisk {
  /** For reading and writing; the file and its folder are made if they are not there, for the user only. */
  open(path: string): Promise<DiskFile>;
  /** Null: not there. */
  stat(path: string): Promise<{ size: number; inode: number } | null>;
  /** Empty when there is no such folder. */
  list(folder: string): Promise<string[]>;
  rename(from: string, to: string): Promise<void>;
}

export interface DiskFile {
  inode: number;
  size(): Promise<number>;
  /** As many of the bytes as there are. */
  read(position: number, length: number): Promise<Buffer>;
  /** Returns how many were taken: a disk that fills up takes some. */
  write(bytes: Buffer, position: number): Promise<number>;
  truncate(size: number): Promise<void>;
  datasync(): Promise<void>;
  close(): Promise<void>;
}

export const auditDisk: AuditDisk = {
  async open(path) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const isNew = (await auditDisk.stat(path)) === null;
    // Not for appending: there the system ignores positions, and what failed half way could not be written over.
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

/** Or a file that is new, or has a new name, may be gone after a power cut with everything in it. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function nullIfMissing(thrown: NodeJS.ErrnoException): null {
  if (thrown.code === 'ENOENT') return null;
  throw thrown;
}

/** The end of the log as it was last known to be on disk: without it, lines taken from the end would not be missed. */
export interface Head extends Link {
  /** The log was closed in order: nothing comes after this. */
  isLast: boolean;
}

/** Always the same length, so that it is written over in one piece. */
const headText = ({ seq, hash, isLast }: Head) =>
  `${String(seq).padStart(16, '0')} ${hash} ${isLast ? 'closed' : 'open  '}\n`;
const HEAD_LENGTH = 16 + 1 + 64 + 1 + 6 + 1;

export async function writeHead(file: DiskFile, head: Head): Promise<void> {
  const bytes = Buffer.from(headText(head));
  if ((await file.write(bytes, 0)) < bytes.length) throw new Error('audit.head was written in part only');
}

/** Null: there is none, or it is none of ours. */
export async function readHead(file: Pick<DiskFile, 'read'>): Promise<Head | null> {
  const text = (await file.read(0, HEAD_LENGTH + 1)).toString();
  const parts = /^(\d{16}) ([0-9a-f]{64}) (open {2}|closed)\n$/.exec(text);
  return parts && { seq: Number(parts[1]), hash: parts[2]!, isLast: parts[3] === 'closed' };
}

/** More than one write, so that whatever a killed hub left of its last one is in sight. */
const TAIL = 1024 * 1024;
const NEWLINE = 0x0a;

export interface Recovered {
  /** What the next line comes after. */
  link: Link;
  /** How much of the file stays: without a last line that is incomplete. */
  size: number;
  /** What was found out of order, to be written down first. */
  repairs: AuditEntry[];
}

/**
 * Finds the end of a log that was left somehow. Changes nothing. An incomplete last line does not count: a hub
 * was killed while it wrote. What the head
 * says was written and is not there (or is something else) is not forgotten: the chain goes on from the head, so that the
 * log can be seen to be broken here for ever.
 */
export async function recoverEnd(
  disk: AuditDisk,
  folder: string,
  file: DiskFile,
  head: Head | null,
): Promise<Recovered> {
  const repairs: AuditEntry[] = [];
  const whole = await file.size();
  const size = await sizeOfLines(file, whole);
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

/** A hub that was killed wrote more than its head says; one that ended in order did not. */
const isAfter = (end: Link, head: Head) =>
  end.seq === head.seq ? end.hash === head.hash : end.seq > head.seq && !head.isLast;

export const repair = (name: string): AuditEntry => ({
  ...{ runId: null, roleId: null, workspace: '', server: null },
  kind: 'repair',
  name,
  decision: 'allowed',
  outcome: 'ok',
});

async function sizeOfLines(file: Pick<DiskFile, 'read'>, size: number): Promise<number> {
  const tail = await file.read(Math.max(0, size - TAIL), Math.min(size, TAIL));
  const incomplete = tail.length - 1 - tail.lastIndexOf(NEWLINE);
  // No end of a line in all of this: nothing of ours, and not ours to remove.
  return incomplete === TAIL ? size : size - incomplete;
}

/** Null: there is no line. */
async function lastLine(file: Pick<DiskFile, 'read'>, size: number): Promise<Link | 'broken' | null> {
  if (size === 0) return null;
  const tail = await file.read(Math.max(0, size - TAIL), Math.min(size, TAIL));
  if (tail.at(-1) !== NEWLINE) return 'broken';
  const line = checkLine(tail.subarray(tail.lastIndexOf(NEWLINE, tail.length - 2) + 1, -1));
  return typeof line === 'string' ? 'broken' : line;
}

/** The current file is empty for a moment after each change of files. */
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
