import type { FileHandle } from 'node:fs/promises';
import { openRegular } from './open-regular.ts';
import { readFully } from './read-fully.ts';
import { endOfCharacter, endOfWhole, LONGEST, startOfCharacter } from './utf8-cut.ts';

/** Structurally the core's `OutputPage`. */
export interface OutputPage {
  text: string;
  offset: number;
  nextOffset: number;
  size: number;
}

const NEWLINE = 0x0a;
const NOTHING: OutputPage = { text: '', offset: 0, nextOffset: 0, size: 0 };

/**
 * At most `limit` bytes from `offset` (a negative one counts from the end), as whole characters; a single character may
 * exceed a tiny limit, so that a page that is not at the end always moves on. While the writer lives, half a character
 * at the end of the file does not count as written yet, `size` included.
 */
export async function readPage(
  path: string,
  offset: number,
  limit: number,
  isOver: () => boolean,
  /** Without the rest of a line at its beginning and the start of one at its end, as far as a whole one is left. */
  isWholeLines = false,
): Promise<OutputPage> {
  const file = await openRegular(path);
  if (!file) return NOTHING;
  try {
    const size = await writtenSize(file, isOver);
    const wanted = offset < 0 ? Math.max(0, size + offset) : Math.min(offset, size);
    const from = Math.max(0, wanted - LONGEST);
    const until = Math.min(size, wanted + Math.max(1, limit) + LONGEST);
    const bytes = await read(file, from, until - from);
    const page = cut(bytes, wanted - from, Math.max(1, limit));
    const { start, end } = isWholeLines ? wholeLines(bytes, page, from + page.end === size) : page;
    return { text: decode(bytes.subarray(start, end)), offset: from + start, nextOffset: from + end, size };
  } finally {
    await file.close();
  }
}

function cut(bytes: Buffer, wanted: number, limit: number): { start: number; end: number } {
  const inside = startOfCharacter(bytes, wanted);
  const start = inside < wanted ? endOfCharacter(bytes, inside) : wanted;
  if (start >= bytes.length) return { start, end: start };
  const last = Math.min(start + limit, bytes.length);
  const end = last === bytes.length ? last : startOfCharacter(bytes, last);
  return { start, end: end > start ? end : endOfCharacter(bytes, start) };
}

function wholeLines(
  bytes: Buffer,
  { start, end }: { start: number; end: number },
  isLast: boolean,
): { start: number; end: number } {
  const isInside = start > 0 && bytes[start - 1] !== NEWLINE;
  const first = isInside ? bytes.indexOf(NEWLINE, start) + 1 : start;
  const from = first > start && first < end ? first : start;
  const last = isLast ? end : bytes.lastIndexOf(NEWLINE, end - 1) + 1;
  return { start: from, end: last > from ? last : end };
}

async function writtenSize(file: FileHandle, isOver: () => boolean): Promise<number> {
  const { size } = await file.stat();
  const from = Math.max(0, size - LONGEST);
  const tail = await read(file, from, size - from);
  const whole = from + endOfWhole(tail);
  if (whole === size || isOver()) return size;
  return whole;
}

const read = (file: FileHandle, from: number, length: number): Promise<Buffer> =>
  readFully(file, Buffer.allocUnsafe(length), from);

/** A mark for byte order inside the output is a character like any other. */
const decode = (bytes: Buffer): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
