import type { SavedRun } from '../state/saved.ts';

type Output = SavedRun['outputs'][number];

const NEWLINE = 0x0a;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
/** Whether a byte continues a UTF-8 character. */
const isInside = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

export interface Range {
  offset: number;
  limit: number;
  /** True to leave out partial lines at the edges, unless a part of one line is all there is. */
  isWholeLines: boolean;
  /** True to show readable text instead of an engine's JSON event lines. */
  isReadable: boolean;
}

/** A saved output. Reads by bytes and by lines, as the hub reads the original file. Parts that were left out are not counted. */
export class SavedOutput {
  readonly #bytes: Uint8Array;
  /** Byte offset at which each line starts. */
  readonly #starts: number[] = [];
  readonly #words: Output['words'];
  readonly #first: number | null;

  constructor({ text, words, firstLine }: Pick<Output, 'text' | 'words' | 'firstLine'>) {
    this.#bytes = new TextEncoder().encode(text);
    this.#words = words;
    this.#first = firstLine;
    for (let at = 0; at < this.#bytes.length; ) {
      this.#starts.push(at);
      const end = this.#bytes.indexOf(NEWLINE, at);
      at = end === -1 ? this.#bytes.length : end + 1;
    }
  }

  read({ offset, limit, isWholeLines, isReadable }: Range) {
    const size = this.#bytes.length;
    const wanted = offset < 0 ? Math.max(0, size + offset) : Math.min(offset, size);
    let [start, end] = this.#cut(wanted, Math.max(1, limit));
    if (isWholeLines) [start, end] = this.#whole(start, end);
    const firstLine = isWholeLines ? this.#number(this.#indexAt(start)) : null;
    const asReadable = isReadable && this.#words !== null;
    if (asReadable) end = Math.max(start, this.#bytes.lastIndexOf(NEWLINE, end - 1) + 1);
    const text = asReadable
      ? this.#wordsBetween(start, end)
      : decoder.decode(this.#bytes.subarray(start, end));
    return { text, offset: start, nextOffset: end, size, firstLine };
  }

  /** Finds where a line starts, or the line that contains a byte. */
  locate({ line, offset }: { line?: number | undefined; offset?: number | undefined }) {
    const last = this.#starts.length - 1;
    const index = line === undefined ? this.#indexAt(offset ?? 0) : line - (this.#first ?? 1);
    const found = Math.min(Math.max(0, index), last);
    return {
      line: last < 0 ? null : this.#number(found),
      offset: this.#starts[found] ?? null,
      lines: this.#number(last),
      isComplete: true,
    };
  }

  /** Yields lines after this byte, each with its number, offset and text. */
  *lines(
    after: number,
    isReadable: boolean,
  ): Generator<{ line: number | null; offset: number; text: string }> {
    for (let index = this.#indexAt(after); index < this.#starts.length; index++) {
      const offset = this.#starts[index]!;
      if (offset < after) continue;
      const end = this.#starts[index + 1] ?? this.#bytes.length;
      const raw = () => decoder.decode(this.#bytes.subarray(offset, end)).replace(/\n$/, '');
      const words = isReadable && this.#words ? (this.#words[index] ?? '').replaceAll('\n', ' ') : raw();
      yield { line: this.#number(index), offset, text: words };
    }
  }

  #cut(wanted: number, limit: number): [number, number] {
    let start = wanted;
    while (isInside(this.#bytes[start])) start++;
    let end = Math.min(start + limit, this.#bytes.length);
    while (end > start && isInside(this.#bytes[end])) end--;
    // A character may be longer than the limit. It is read whole, because the reader would otherwise never reach the
    // end.
    if (end === start) while (++end < this.#bytes.length && isInside(this.#bytes[end]));
    return [start, Math.min(end, this.#bytes.length)];
  }

  #whole(start: number, end: number): [number, number] {
    const isPiece = start > 0 && this.#bytes[start - 1] !== NEWLINE;
    const next = isPiece ? this.#bytes.indexOf(NEWLINE, start) + 1 : start;
    const from = next > start && next < end ? next : start;
    const last = end === this.#bytes.length ? end : this.#bytes.lastIndexOf(NEWLINE, end - 1) + 1;
    return [from, last > from ? last : end];
  }

  #wordsBetween(start: number, end: number): string {
    const shown: string[] = [];
    for (let index = this.#indexAt(start); (this.#starts[index] ?? end) < end; index++) {
      const words = this.#starts[index]! >= start ? this.#words![index] : null;
      if (words) shown.push(`${words}\n`);
    }
    return shown.join('');
  }

  /** Index of the line that contains this byte. */
  #indexAt(offset: number): number {
    let [low, high] = [0, this.#starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.#starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #number(index: number): number | null {
    return this.#first === null ? null : this.#first + index;
  }
}
