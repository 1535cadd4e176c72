import type { Link } from './audit-chain.ts';
import type { DiskFile } from './audit-disk.ts';

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
