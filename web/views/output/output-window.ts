import { type AnsiLine, AnsiParser } from '../../ui/ansi.ts';

/** A piece of an output, as the hub sends it. */
export interface OutputPiece {
  text: string;
  offset: number;
  nextOffset: number;
  /** The line in which the piece begins. Null if unknown. */
  firstLine: number | null;
}

/** Lines of one piece, which are shown together. */
export interface WindowPage {
  id: number;
  /** Byte offsets of the page, and its number of newlines. */
  start: number;
  end: number;
  newlines: number;
  lines: AnsiLine[];
  /** True if the first bytes belong to a line that is shown with the previous page. */
  hasRest: boolean;
  /** True if the page ends inside a line. That line is the last one shown. */
  isInside: boolean;
}

export const MAX_LINES = 5_000;
const MAX_BYTES = 8 * 1024 * 1024;
/** A longer line is shown in pieces, so that its first pieces can be dropped. */
const MAX_PIECE_LENGTH = 2 * 1024 * 1024;

let lastId = 0;

/**
 * The loaded part of an output: consecutive pages, newest last, limited in lines and bytes. It moves over the output by
 * adding pages at one end and dropping them at the other.
 */
export class OutputWindow {
  pages: WindowPage[] = [];
  /** Line number of the first byte in the window. Null if unknown. */
  firstLine: number | null = null;
  #parser = new AnsiParser();
  readonly #most: number;
  readonly #mostBytes: number;

  constructor(most = MAX_LINES, mostBytes = MAX_BYTES) {
    this.#most = most;
    this.#mostBytes = mostBytes;
  }

  get start(): number {
    return this.pages[0]?.start ?? 0;
  }

  get end(): number {
    return this.pages.at(-1)?.end ?? 0;
  }

  get count(): number {
    return this.pages.reduce((sum, { lines }) => sum + lines.length, 0);
  }

  get isFull(): boolean {
    return this.count >= this.#most || this.end - this.start >= this.#mostBytes;
  }

  /** Whether the text after this window continues its last line. */
  get isInsideLine(): boolean {
    return this.pages.at(-1)?.isInside ?? false;
  }

  clear(): void {
    this.pages = [];
    this.firstLine = null;
    this.#parser = new AnsiParser();
  }

  /** Adds the piece after this window. Returns the number of new lines. */
  append({ text, offset, nextOffset, firstLine }: OutputPiece): number {
    if (this.pages.length > 0 && offset !== this.end) this.clear();
    if (this.pages.length === 0) this.firstLine = firstLine;
    const before = this.pages.at(-1);
    if (before?.isInside && before.end - before.start >= MAX_PIECE_LENGTH) {
      this.#parser.breakLine();
      before.isInside = false;
    }
    const whole = this.#parser.push(text);
    const isInside = text === '' ? this.isInsideLine : !text.endsWith('\n');
    const lines = isInside ? [...whole, this.#parser.open] : whole;
    const newlines = whole.length;
    if (!before?.isInside) {
      this.pages.push(newPage({ start: offset, end: nextOffset, newlines, lines, hasRest: false, isInside }));
      return lines.length;
    }
    // The unfinished line stays in its page and gets its rest there.
    before.lines = [...before.lines.slice(0, -1), lines[0] ?? []];
    if (newlines === 0) {
      before.end = nextOffset;
      return 0;
    }
    before.isInside = false;
    const rest = lines.slice(1);
    this.pages.push(
      newPage({ start: before.end, end: nextOffset, newlines, lines: rest, hasRest: true, isInside }),
    );
    return rest.length;
  }

  /** Adds the piece before this window. */
  prepend({ text, offset, nextOffset }: OutputPiece): void {
    if (nextOffset !== this.start) return;
    const parser = new AnsiParser();
    const lines = parser.push(text);
    const newlines = lines.length;
    // The last line may continue in the next page. Then it is shown in two pieces.
    if (parser.open.length > 0) lines.push(parser.open);
    const page = { start: offset, end: nextOffset, newlines, lines, hasRest: false, isInside: false };
    this.pages.unshift(newPage(page));
    if (this.firstLine !== null) this.firstLine -= newlines;
  }

  /** Drops pages at one end while the limits are exceeded. */
  trim(from: 'start' | 'end'): void {
    while (this.pages.length > 1 && (this.count > this.#most || this.end - this.start > this.#mostBytes)) {
      if (from === 'start') {
        const { newlines } = this.pages.shift()!;
        if (this.firstLine !== null) this.firstLine += newlines;
      } else {
        this.pages.pop();
        this.#parser = new AnsiParser();
      }
    }
  }

  /** Number of the first line that a page shows. */
  lineOf(page: WindowPage): number | null {
    if (this.firstLine === null) return null;
    const at = this.pages.indexOf(page);
    const line = this.pages.slice(0, at).reduce((sum, { newlines }) => sum + newlines, this.firstLine);
    return page.hasRest ? line + 1 : line;
  }
}

const newPage = (page: Omit<WindowPage, 'id'>): WindowPage => ({ id: ++lastId, ...page });
