import { fstatSync, readSync } from 'node:fs';
import { withRegular } from './regular-file.ts';

/**
 * Finds offsets where UTF-8 text can be cut so that decoding the pieces gives the same result as decoding the whole
 * text. This also holds for invalid UTF-8: a first byte stays together with the continuation bytes that it announces.
 */

/** Maximum length of a character in UTF-8. */
const MAX_CHARACTER_BYTES = 4;

/** If `at` is inside a character, complete or not, returns the start of that character. Otherwise returns `at`. */
function startOfCharacter(bytes: Uint8Array, at: number): number {
  for (let start = at - 1; start >= 0 && start > at - MAX_CHARACTER_BYTES; start--) {
    const byte = bytes[start]!;
    if (isContinuation(byte)) continue;
    return endOfCharacter(bytes, start) > at ? start : at;
  }
  return at;
}

/** End of the character that starts at `start`, even if the character is incomplete. At least `start + 1`. */
function endOfCharacter(bytes: Uint8Array, start: number): number {
  const length = lengthOf(bytes[start]!);
  let end = start + 1;
  while (end < start + length && end < bytes.length && isContinuation(bytes[end]!)) end++;
  return end;
}

/** End of the last complete character. The bytes after it may become a character when more bytes arrive. */
function endOfWhole(bytes: Uint8Array): number {
  for (let start = bytes.length - 1; start >= 0 && start > bytes.length - MAX_CHARACTER_BYTES; start--) {
    if (isContinuation(bytes[start]!)) continue;
    const isOpen =
      endOfCharacter(bytes, start) === bytes.length && start + lengthOf(bytes[start]!) > bytes.length;
    return isOpen ? start : bytes.length;
  }
  return bytes.length;
}

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;

function lengthOf(lead: number): number {
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 1;
}

/** Same shape as the core's type `OutputPage`. */
export interface OutputPage {
  text: string;
  offset: number;
  nextOffset: number;
  size: number;
}

const NEWLINE = 0x0a;
const NOTHING: OutputPage = { text: '', offset: 0, nextOffset: 0, size: 0 };

/**
 * Returns at most `limit` bytes from `offset` as whole characters. A negative offset counts from the end. A single
 * character may exceed a tiny limit, so that the next page always starts later. While the writer is alive, half a
 * character at the end of the file does not count, not even in `size`. Synchronous, because every answer waits for
 * it, and a thread switch costs more than reading a page from the system's cache.
 */
export async function readPage(
  path: string,
  offset: number,
  limit: number,
  isOver: () => boolean,
  /** Leaves out the partial lines at the start and the end of the page, if at least one whole line remains. */
  isWholeLines = false,
): Promise<OutputPage> {
  const page = withRegular(path, file => {
    const size = writtenSize(file, isOver);
    const wanted = offset < 0 ? Math.max(0, size + offset) : Math.min(offset, size);
    const from = Math.max(0, wanted - MAX_CHARACTER_BYTES);
    const until = Math.min(size, wanted + Math.max(1, limit) + MAX_CHARACTER_BYTES);
    const bytes = read(file, from, until - from);
    const whole = cut(bytes, wanted - from, Math.max(1, limit));
    const { start, end } = isWholeLines ? wholeLines(bytes, whole, from + whole.end === size) : whole;
    return { text: decode(bytes.subarray(start, end)), offset: from + start, nextOffset: from + end, size };
  });
  return page ?? NOTHING;
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

function writtenSize(file: number, isOver: () => boolean): number {
  const { size } = fstatSync(file);
  const from = Math.max(0, size - MAX_CHARACTER_BYTES);
  const tail = read(file, from, size - from);
  const whole = from + endOfWhole(tail);
  if (whole === size || isOver()) return size;
  return whole;
}

function read(file: number, from: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  for (let got = -1; got !== 0 && filled < length; filled += got)
    got = readSync(file, bytes, filled, length - filled, from + filled);
  return bytes.subarray(0, filled);
}

/** A byte order mark inside the output is a character like any other. */
const decode = (bytes: Buffer): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
