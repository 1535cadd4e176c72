import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { tryParseJson } from '../../base/json.ts';
import { nullIfMissing } from '../../base/missing-file.ts';
import type { AuditFilter, AuditPage } from '../../core/ports/gateway.ts';
import { type AuditBreak, AuditRecord, type AuditVerdict } from '../../schema/audit.ts';
import {
  auditDisk,
  checkLine,
  currentFile,
  HEAD_LENGTH,
  type Head,
  headFile,
  type Link,
  MAX_LINE_LENGTH,
  olderFiles,
  parseHead,
  START,
} from './audit-files.ts';

const CHUNK = 256 * 1024;
const NEWLINE = 0x0a;

interface ReadLine {
  bytes: Buffer;
  /** False if the file ends before the line is complete. */
  isWhole: boolean;
}

/** Reads in chunks, so that neither a large file nor a line without an end fills the memory. */
async function* linesOf(file: FileHandle): AsyncGenerator<ReadLine> {
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
    rest = chunk.subarray(from, from + MAX_LINE_LENGTH);
  }
  if (rest.length > 0) yield { bytes: rest, isWhole: false };
}

/** Yields lines from the last complete one back to the first. */
async function* linesBackwards(file: FileHandle): AsyncGenerator<Buffer> {
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
    rest = chunk.subarray(Math.max(0, to - MAX_LINE_LENGTH), to);
  }
  if (!isAfterEnd) yield rest;
}

/**
 * Calls `work` with each file of a log that may be in use, until `work` returns `done`. Opens the current file first:
 * if the hub rotates it during the read, the handle still belongs to the same file. Returns the number of files.
 */
async function eachFile(
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
      const next = await work(file, path).finally(() => isCurrent || file.close());
      if (next === 'done') break;
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

/** Returns the newest entries that match. Reads from the end, so that a long log takes no longer than a short one. */
export async function readAudit(
  folder: string,
  { runId, deniedOnly, limit }: AuditFilter,
): Promise<AuditPage> {
  // Quotes inside values are escaped, so a name cannot imitate a field.
  const marks = [
    ...(runId === undefined ? [] : [`"runId":"${runId}"`]),
    ...(deniedOnly ? ['"decision":"denied"'] : []),
  ];
  const entries: AuditRecord[] = [];
  let unreadable = 0;
  await eachFile(folder, 'newest first', async file => {
    for await (const bytes of linesBackwards(file)) {
      if (!marks.every(mark => bytes.includes(mark))) continue;
      // An unreadable line is only counted here, because `verify` reports it.
      const record = AuditRecord.safeParse(tryParseJson(bytes.toString())).data;
      if (record) entries.push(record);
      else unreadable += 1;
      if (entries.length === limit) return 'done';
    }
    return 'more';
  });
  return { entries: entries.reverse(), unreadable };
}

type Fault = Pick<AuditBreak, 'what' | 'message'>;

/**
 * Checks every line of every file, in order, up to the first line that differs from what was written. `written` is the
 * last line that a running hub knows to be on disk; the hub may be writing more. Without `written` the stored head
 * counts.
 */
export async function verifyAudit(folder: string, written?: Link): Promise<AuditVerdict> {
  const head = written ? { ...written, isLast: false } : await storedHead(folder);
  let link = START;
  let problem: AuditBreak | null = null;
  let place = { file: currentFile(folder), line: 0 };
  const files = await eachFile(folder, 'oldest first', async (file, path) => {
    let line = 0;
    for await (const { bytes, isWhole } of linesOf(file)) {
      line += 1;
      if (problem) {
        // A valid line further down in the file shows that the missing line was moved.
        if (!bytes.toString('latin1', 0, 32).startsWith(`{"seq":${problem.seq},`)) continue;
        problem = { ...problem, ...displaced(problem.seq) };
        return 'done';
      }
      if (!isWhole && written && link.seq >= written.seq) return 'done';
      place = { file: path, line };
      const found = isWhole ? follow(bytes, link, head) : INCOMPLETE;
      if ('what' in found) problem = { ...place, seq: link.seq + 1, ...found };
      else link = found;
      if (problem && problem.what !== 'missing') return 'done';
    }
    return 'more';
  });
  const fault = problem ? null : endFault(link, head);
  if (fault) problem = { file: place.file, line: place.line + 1, seq: link.seq + 1, ...fault };
  return {
    problem,
    entries: link.seq,
    files,
    lastHash: link === START ? null : link.hash,
  };
}

/** Returns the chain position after this line, or what is wrong with the line. */
function follow(bytes: Buffer, before: Link, head: Head | null): Link | Fault {
  const line = checkLine(bytes);
  if (line === 'unreadable') return { what: 'unreadable', message: 'This is not a line of the audit log.' };
  if (line === 'edited') return { what: 'edited', message: 'This line was changed after it was written.' };
  const due = before.seq + 1;
  if (line.seq < due) return displaced(due, line.seq);
  if (line.seq > due)
    return {
      what: 'missing',
      message: `Found line ${line.seq}; the lines from ${due} up to it are missing.`,
    };
  if (line.prev !== before.hash)
    return {
      what: 'edited',
      message: 'This line does not follow the line before it: one of the two is forged.',
    };
  if (head?.isLast && line.seq > head.seq)
    return { what: 'edited', message: 'This line was added after the log had been closed.' };
  if (line.seq === head?.seq && line.hash !== head.hash)
    return {
      what: 'edited',
      message:
        'This is not the line that was written here: the log was rewritten up to this line or from an earlier one.',
    };
  return { seq: line.seq, hash: line.hash };
}

function endFault({ seq }: Link, head: Head | null): Fault | null {
  if (head === null)
    return seq === 0
      ? null
      : { what: 'cut', message: 'audit.head is missing, so it is unknown whether the log is complete.' };
  if (seq >= head.seq) return null;
  return {
    what: 'cut',
    message: `The log had ${head.seq} lines; the last ${head.seq - seq} are missing.`,
  };
}

const INCOMPLETE: Fault = {
  what: 'cut',
  message: 'The last line is incomplete: the hub was killed while writing, or the file was cut.',
};

const displaced = (due: number, found?: number): Fault => ({
  what: 'reordered',
  message:
    found === undefined ? `Line ${due} is further down.` : `Found line ${found} where ${due} should be.`,
});

async function storedHead(folder: string): Promise<Head | null> {
  // An unreadable head is treated as missing.
  const stored = await text(createReadStream(headFile(folder), { end: HEAD_LENGTH })).catch(() => '');
  return parseHead(stored);
}
