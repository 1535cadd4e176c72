import { hash } from 'node:crypto';
import { mkdir, open, readdir, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { tryParseJson } from '../../base/json.ts';
import { nullIfMissing } from '../../base/missing-file.ts';
import type { AuditEntry } from '../../core/ports/gateway.ts';

/** End of the hash chain: the next line contains this hash. */
export interface Link {
  seq: number;
  hash: string;
}

export const START: Link = { seq: 0, hash: '0'.repeat(64) };

const MAX_NAME_LENGTH = 200;
const MAX_SHAPE_LENGTH = 500;
const MAX_PATH_LENGTH = 4096;
/** Maximum length of a line to read. Even with every character escaped, an entry is shorter. */
export const MAX_LINE_LENGTH = 64 * 1024;

/**
 * The entry as the inside of a JSON object, cut to size. Serialized at once, so that later changes to the entry have no
 * effect.
 */
export function fieldsOf(entry: AuditEntry): string {
  return oneLine(
    JSON.stringify({
      runId: entry.runId,
      roleId: entry.roleId === null ? null : cut(entry.roleId, MAX_NAME_LENGTH),
      subagent: entry.subagent === undefined ? undefined : cut(entry.subagent, MAX_NAME_LENGTH),
      workspace: cut(entry.workspace, MAX_PATH_LENGTH),
      server: entry.server === null ? null : cut(entry.server, MAX_NAME_LENGTH),
      kind: cut(entry.kind, MAX_NAME_LENGTH),
      name: cut(entry.name, MAX_NAME_LENGTH),
      decision: entry.decision,
      outcome: cut(entry.outcome, MAX_NAME_LENGTH),
      argumentShape:
        entry.argumentShape === undefined ? undefined : cut(entry.argumentShape, MAX_SHAPE_LENGTH),
      argumentHash: entry.argumentHash,
      resultBytes: entry.resultBytes,
      resultHash: entry.resultHash,
      durationMs: entry.durationMs,
      count: entry.count,
    }).slice(1, -1),
  );
}

/** The next line of the chain after `before`, with its newline. */
export function lineAfter(before: Link, at: number, fields: string): { line: string; link: Link } {
  const seq = before.seq + 1;
  const open = `{"seq":${seq},"at":"${new Date(at).toISOString()}",${fields},"prev":"${before.hash}"`;
  const own = hash('sha256', `${open}}`);
  return { line: `${open},"hash":"${own}"}\n`, link: { seq, hash: own } };
}

export type CheckedLine = Link & { prev: string };

/**
 * Checks one line, given without its newline. The hash covers its bytes, not the parsed value, so that two spellings of the same
 * JSON have different hashes.
 */
export function checkLine(bytes: Buffer): CheckedLine | 'edited' | 'unreadable' {
  const text = bytes.toString();
  const ends = /,"prev":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"\}$/.exec(text);
  const seq = /^\{"seq":([1-9][0-9]{0,15}),"at":/.exec(text);
  if (tryParseJson(text) === undefined) return 'unreadable';
  if (!ends || !seq) return 'edited';
  const own = hash('sha256', Buffer.concat([bytes.subarray(0, bytes.length - HASH_PART), CLOSING]));
  if (own !== ends[2]) return 'edited';
  return { seq: Number(seq[1]), prev: ends[1]!, hash: own };
}

const CLOSING = Buffer.from('}');
const HASH_PART = `,"hash":"${START.hash}"}`.length;

/**
 * Escapes characters that JSON does not escape, but that some readers treat as a line end or terminals interpret. Tests
 * for them first, because they are rare.
 */
const oneLine = (json: string) => (UNSAFE.test(json) ? json.replace(EVERY_UNSAFE, escaped) : json);
const UNSAFE = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;
const EVERY_UNSAFE = new RegExp(UNSAFE, 'g');
const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

const cut = (text: string, most: number) =>
  text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`;

/** The current file. Rotated files are named after the number of their first line. */
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
  /** Opens for reading and writing. Creates the file and its folder, readable only by the user. */
  open(path: string): Promise<DiskFile>;
  /** Size and identity of a file. Null if it does not exist. */
  stat(path: string): Promise<{ size: number; inode: number } | null>;
  /** Empty if the folder does not exist. */
  list(folder: string): Promise<string[]>;
  rename(from: string, to: string): Promise<void>;
}

export interface DiskFile {
  inode: number;
  size(): Promise<number>;
  /** May return fewer bytes than requested at the end of the file. */
  read(position: number, length: number): Promise<Buffer>;
  /** Returns how many bytes were written: a disk that fills up may accept only some of them. */
  write(bytes: Buffer, position: number): Promise<number>;
  truncate(size: number): Promise<void>;
  datasync(): Promise<void>;
  close(): Promise<void>;
}

export const auditDisk: AuditDisk = {
  async open(path) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const isNew = (await auditDisk.stat(path)) === null;
    // The file is not opened in append mode: there the system ignores positions, and a half-written line could not be
    // overwritten.
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

/** Syncs the folder. Without this a new or renamed file may be lost in a power failure, with everything in it. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The files that a log has open. */
export interface LogFiles {
  file: DiskFile;
  head: DiskFile;
}

export async function openFiles(disk: AuditDisk, folder: string): Promise<LogFiles> {
  const file = await disk.open(currentFile(folder));
  try {
    return { file, head: await disk.open(headFile(folder)) };
  } catch (thrown) {
    await file.close().catch(() => {}); // an error of closing is ignored, because `thrown` is the first error
    throw thrown;
  }
}

export async function closeFiles({ file, head }: LogFiles): Promise<void> {
  await Promise.all([file.close(), head.close()]);
}

/** End of the log as last known to be on disk. Without it, lines removed from the end would go unnoticed. */
export interface Head extends Link {
  /** True if the log was closed properly, so that no line follows this one. */
  isLast: boolean;
}

/** The text always has the same length, so that one write replaces it. */
const headText = ({ seq, hash, isLast }: Head) =>
  `${String(seq).padStart(16, '0')} ${hash} ${isLast ? 'closed' : 'open  '}\n`;
export const HEAD_LENGTH = 16 + 1 + 64 + 1 + 6 + 1;

export async function writeHead(file: DiskFile, head: Head): Promise<void> {
  const bytes = Buffer.from(headText(head));
  if ((await file.write(bytes, 0)) < bytes.length) throw new Error('audit.head was written in part only');
}

export const readHead = async (file: DiskFile): Promise<Head | null> =>
  parseHead((await file.read(0, HEAD_LENGTH + 1)).toString());

/** Parses the head of a log. Null if the text is empty, or not a head that Squad wrote. */
export function parseHead(text: string): Head | null {
  const parts = /^(\d{16}) ([0-9a-f]{64}) (open {2}|closed)\n$/.exec(text);
  return parts && { seq: Number(parts[1]), hash: parts[2]!, isLast: parts[3] === 'closed' };
}

/**
 * Number of bytes to read from the end of a file. It is larger than one write, so it covers an incomplete last write of
 * a killed hub.
 */
const TAIL = 1024 * 1024;
const NEWLINE = 0x0a;

interface Recovered {
  /** Chain position that the next line continues. */
  link: Link;
  /** Size of the file without an incomplete last line. */
  size: number;
  /** Problems of the log that were found. They become the first new entries. */
  repairs: AuditEntry[];
}

/**
 * Finds the end of a log in whatever state the last hub left it. Changes nothing. An incomplete last line does not
 * count: a hub was killed while it wrote. If lines are missing or differ from the head, the chain continues from the
 * head, so that every later verification finds the break.
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
    repairs.push(
      repair('audit.head is missing or unreadable, so it is unknown whether the end of the log is complete'),
    );
    return { link: last === 'broken' ? START : last, size, repairs };
  }
  const end = last ?? START;
  if (end !== 'broken' && isAfter(end, head)) return { link: end, size, repairs };
  repairs.push(repair(`the log does not end as it was left, with line ${head.seq}`));
  return { link: head, size, repairs };
}

/**
 * The log may be longer than its head file says if the hub was killed between the two writes, but not if the hub closed
 * the log.
 */
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
  // The whole tail has no line end: Squad did not write this, so Squad does not remove it.
  return incomplete === TAIL ? size : size - incomplete;
}

/** Last line of the file. Null if the file is empty. */
async function lastLine(file: DiskFile, size: number): Promise<Link | 'broken' | null> {
  if (size === 0) return null;
  const tail = await file.read(Math.max(0, size - TAIL), Math.min(size, TAIL));
  if (tail.at(-1) !== NEWLINE) return 'broken';
  const line = checkLine(tail.subarray(tail.lastIndexOf(NEWLINE, tail.length - 2) + 1, -1));
  return typeof line === 'string' ? 'broken' : line;
}

/** Reads the end of the newest rotated file, because the current file is empty for a moment after a rotation. */
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
