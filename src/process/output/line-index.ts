import type { FileHandle } from 'node:fs/promises';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import { openRegular, readFully } from './regular-file.ts';

/** Same shape as the core's type `OutputPlace`. */
export interface OutputPlace {
  line: number | null;
  offset: number | null;
  lines: number | null;
  isComplete: boolean;
}

/** Number of newlines before every `step` bytes of a file, as far as the file has been read. */
interface Counts {
  inode: number;
  step: number;
  before: number[];
  /** Bytes read so far, and the number of newlines in them. */
  read: number;
  newlines: number;
}

const NEWLINE = 0x0a;
const FIRST_STEP = 64 * 1024;
const MAX_COUNTS = 16_384;
const MAX_FILES = 32;
const CHUNK = 1024 * 1024;
const NOWHERE: OutputPlace = { line: null, offset: null, lines: null, isComplete: true };

/**
 * Maps line numbers to offsets in files that only grow. Each file is read once, and later only its new part. The
 * index holds one count per step. The step doubles when there are too many counts. A call that exceeds its time
 * budget returns an incomplete result, and the next call continues from there.
 */
export function createLineIndex({ mostCounts = MAX_COUNTS, mostFiles = MAX_FILES } = {}) {
  const files = new Map<string, Counts>();
  /** Runs one search per file at a time: two searches that read the same new part would count its newlines twice. */
  const queue = new KeyedQueue<string>();

  function countsOf(path: string, inode: number, size: number): Counts {
    const known = files.get(path);
    files.delete(path);
    const isSame = known && known.inode === inode && known.read <= size;
    const counts = isSame ? known : { inode, step: FIRST_STEP, before: [0], read: 0, newlines: 0 };
    files.set(path, counts);
    const [oldest] = files.keys();
    if (files.size > mostFiles && oldest !== undefined) files.delete(oldest);
    return counts;
  }

  async function find(
    path: string,
    budgetMs: number,
    isEnough: (counts: Counts) => boolean,
    place: (file: FileHandle, counts: Counts, size: number) => Promise<{ line: number; offset: number }>,
  ): Promise<OutputPlace> {
    const file = await openRegular(path);
    if (!file) return NOWHERE;
    try {
      const { ino, size } = await file.stat();
      if (size === 0) return { ...NOWHERE, lines: 0 };
      const counts = countsOf(path, ino, size);
      const isThere = await readOn(file, counts, { size, until: isEnough, budgetMs, mostCounts });
      if (!isThere) return { ...NOWHERE, isComplete: false };
      const lines = counts.read === size ? linesIn(counts, await lastByte(file, size)) : null;
      return { ...(await place(file, counts, size)), lines, isComplete: true };
    } finally {
      await file.close();
    }
  }

  return {
    /** Number of the line that contains this byte, and where the line starts. */
    lineAt: (path: string, offset: number, budgetMs: number) =>
      queue.run(path, () =>
        find(
          path,
          budgetMs,
          ({ read }) => read > offset,
          async (file, counts, size) => {
            const byte = Math.max(0, Math.min(offset, size - 1));
            const at = Math.floor(byte / counts.step);
            const rest = await bytesOf(file, at * counts.step, byte);
            const line = counts.before[at]! + newlinesIn(rest) + 1;
            return { line, offset: await startOf(file, counts, line) };
          },
        ),
      ),
    /** Start of this line, or of the last line if the file has fewer lines. */
    offsetOf: (path: string, line: number, budgetMs: number) =>
      queue.run(path, () =>
        find(
          path,
          budgetMs,
          ({ newlines }) => newlines >= line,
          async (file, counts, size) => {
            const last = linesIn(counts, await lastByte(file, size));
            const found = Math.max(1, Math.min(line, last));
            return { line: found, offset: await startOf(file, counts, found) };
          },
        ),
      ),
  };
}

/** Reads until `until` holds or the file ends. Returns false when the time budget ran out first. */
async function readOn(
  file: FileHandle,
  counts: Counts,
  {
    size,
    until,
    budgetMs,
    mostCounts,
  }: { size: number; until: (counts: Counts) => boolean; budgetMs: number; mostCounts: number },
): Promise<boolean> {
  const end = performance.now() + budgetMs;
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK, Math.max(1, size - counts.read)));
  while (counts.read < size && !until(counts)) {
    const bytes = await readFully(
      file,
      chunk.subarray(0, Math.min(chunk.length, size - counts.read)),
      counts.read,
    );
    if (bytes.length === 0) break;
    add(counts, bytes, mostCounts);
    if (performance.now() > end) break;
  }
  return counts.read >= size || until(counts);
}

function add(counts: Counts, bytes: Buffer, most: number): void {
  let at = 0;
  while (at < bytes.length) {
    const next = counts.before.length * counts.step;
    const end = Math.min(bytes.length, at + next - counts.read);
    counts.newlines += newlinesIn(bytes.subarray(at, end));
    counts.read += end - at;
    at = end;
    if (counts.read === next) counts.before.push(counts.newlines);
    if (counts.before.length > most) {
      counts.before = counts.before.filter((_, index) => index % 2 === 0);
      counts.step *= 2;
    }
  }
}

async function startOf(file: FileHandle, { before, step, read }: Counts, line: number): Promise<number> {
  if (line === 1) return 0;
  // The line starts after newline number `line - 1`. Find the last count below that number and read on from there.
  let [low, high] = [0, before.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (before[middle]! < line - 1) low = middle;
    else high = middle - 1;
  }
  const bytes = await bytesOf(file, low * step, Math.min(read, (low + 1) * step));
  let at = -1;
  for (let left = line - 1 - before[low]!; left > 0; left--) at = bytes.indexOf(NEWLINE, at + 1);
  return low * step + at + 1;
}

const bytesOf = (file: FileHandle, from: number, until: number): Promise<Buffer> =>
  readFully(file, Buffer.allocUnsafe(Math.max(0, until - from)), from);

const lastByte = async (file: FileHandle, size: number): Promise<number | undefined> =>
  (await bytesOf(file, size - 1, size))[0];

const linesIn = ({ newlines }: Counts, last: number | undefined): number =>
  last === NEWLINE ? newlines : newlines + 1;

/** Counts four bytes at a time, so that a GiB takes well under a second. */
export function newlinesIn(bytes: Uint8Array): number {
  const lead = Math.min(bytes.length, (4 - (bytes.byteOffset & 3)) & 3);
  const words = new Int32Array(
    bytes.buffer,
    bytes.length > lead ? bytes.byteOffset + lead : 0,
    (bytes.length - lead) >> 2,
  );
  const rest = lead + words.length * 4;
  let count = oneByOne(bytes.subarray(0, lead)) + oneByOne(bytes.subarray(rest));
  for (let at = 0; at < words.length; at++) {
    // After the XOR a newline is a zero byte. A zero byte is the only one whose top bit stays clear in the next step.
    const other = words[at]! ^ 0x0a0a0a0a;
    const found = ~(((other & 0x7f7f7f7f) + 0x7f7f7f7f) | other) & 0x80808080;
    if (found !== 0) count += Math.imul(found >>> 7, 0x01010101) >>> 24;
  }
  return count;
}

function oneByOne(bytes: Uint8Array): number {
  let count = 0;
  for (const byte of bytes) if (byte === NEWLINE) count++;
  return count;
}
