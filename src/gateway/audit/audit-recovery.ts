import type { AuditEntry } from '../../core/ports/gateway.ts';
import { checkLine, type Link, START } from './audit-chain.ts';
import type { AuditDisk, DiskFile } from './audit-disk.ts';
import { olderFiles } from './audit-files.ts';
import type { Head } from './audit-head.ts';

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
