import { type OutputPiece, OutputWindow } from './output-window.ts';

export interface OutputSource {
  /** Reads a piece. `wholeLines`: cuts it at line ends, unless it is part of one long line. */
  read(offset: number, limit: number, wholeLines: boolean): Promise<Piece>;
  /** The line that contains a byte. Null if it was not found yet, and has to be requested again. */
  lineAt(offset: number): Promise<{ line: number | null; isComplete: boolean }>;
  /** Finds the offset at which a line starts. */
  placeOf(line: number): Promise<{ line: number | null; offset: number | null; isComplete: boolean }>;
}

export type FeedChange = 'reset' | 'newer' | 'older' | 'numbers';

type Piece = OutputPiece & { size: number };

const PAGE = 64 * 1024;
const TAIL = 128 * 1024;
/**
 * Maximum number of lines per page. With very short lines fewer bytes are read at once. Otherwise one page would exceed
 * the window.
 */
const MAX_IN_PAGE = 1_000;
const LEAST = 256;
/** If the view is this many bytes behind, it skips output to catch up. */
const FAR_BEHIND = 1024 * 1024;
const MAX_REQUESTS = 200;

/** Moves a window over an output: first its end, then older and newer parts on demand, one request at a time. */
export class OutputFeed {
  readonly window: OutputWindow;
  size = 0;
  isFollowing = true;
  /** Number of known lines that arrived since following stopped, and whether there are more. */
  fresh = 0;
  hasMore = false;
  readonly #source: OutputSource;
  readonly #isReadable: boolean;
  readonly #onChange: (change: FeedChange) => void;
  #last: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(
    source: OutputSource,
    {
      isReadable,
      onChange,
      most,
    }: { isReadable: boolean; onChange(change: FeedChange): void; most?: number },
  ) {
    this.#source = source;
    this.#isReadable = isReadable;
    this.#onChange = onChange;
    this.window = new OutputWindow(most);
  }

  stop(): void {
    this.#isStopped = true;
  }

  openEnd(): Promise<void> {
    return this.#inTurn(async () => {
      const piece = await bounded(TAIL, limit => this.#source.read(-limit, limit, true));
      this.isFollowing = true;
      this.#forgetFresh();
      this.#restart(piece);
    });
  }

  /** Loads the output from the line that starts at this byte, with some lines before it. */
  openAt(offset: number): Promise<void> {
    return this.#inTurn(async () => {
      const piece = await bounded(PAGE, limit => this.#source.read(offset, limit, true));
      this.isFollowing = false;
      this.#restart(piece);
      await this.#readOlder();
    });
  }

  /**
   * Loads the output around a line and returns the number of that line, or of the last line if the requested one is
   * after the end. Null if there is no output.
   */
  async openLine(line: number): Promise<number | null> {
    for (let asked = 0; asked < MAX_REQUESTS && !this.#isStopped; asked++) {
      const place = await this.#source.placeOf(line);
      if (!place.isComplete) continue;
      if (place.offset === null) return null;
      await this.openAt(place.offset);
      return place.line;
    }
    return null;
  }

  older(): Promise<void> {
    return this.#inTurn(() => this.#readOlder());
  }

  newer(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#readNewer({ isWanted: true });
    });
  }

  follow(): Promise<void> {
    this.isFollowing = true;
    this.#forgetFresh();
    return this.size - this.window.end > FAR_BEHIND ? this.openEnd() : this.#catchUp();
  }

  unfollow(): void {
    this.isFollowing = false;
  }

  grew(size: number): void {
    const wasAtEnd = this.window.end >= this.size || this.isFollowing;
    this.size = Math.max(this.size, size);
    if (this.isFollowing) void (this.size - this.window.end > FAR_BEHIND ? this.openEnd() : this.#catchUp());
    else if (wasAtEnd && !this.window.isFull) void this.#catchUp();
    else {
      this.hasMore = true;
      this.#onChange('newer');
    }
  }

  #catchUp(): Promise<void> {
    return this.#inTurn(async () => {
      while (!this.#isStopped && this.window.end < this.size) {
        if (!this.isFollowing && this.window.isFull) {
          this.hasMore = true;
          this.#onChange('newer');
          return;
        }
        if (!(await this.#readNewer({ isWanted: this.isFollowing }))) return;
      }
    });
  }

  /** Reads newer output. Returns false if no more could be read. */
  async #readNewer({ isWanted }: { isWanted: boolean }): Promise<boolean> {
    const from = this.window.end;
    const isWhole = !this.window.isInsideLine;
    const piece = await bounded(PAGE, limit => this.#source.read(from, limit, isWhole));
    this.size = Math.max(this.size, piece.size);
    if (this.#isStopped || piece.nextOffset <= from) return false;
    const lines = this.window.append(piece);
    if (isWanted) this.window.trim('start');
    else this.fresh += lines;
    this.#onChange('newer');
    return true;
  }

  async #readOlder(): Promise<void> {
    const { start } = this.window;
    if (start === 0) return;
    let piece = await bounded(Math.min(PAGE, start), limit => this.#source.read(start - limit, limit, true));
    if (piece.nextOffset !== start)
      piece = this.#isReadable
        ? { ...piece, nextOffset: start }
        : await this.#source.read(piece.offset, start - piece.offset, false);
    if (this.#isStopped || this.window.start !== start) return;
    this.window.prepend(piece);
    this.window.trim('end');
    this.#onChange('older');
  }

  #restart(piece: Piece): void {
    if (this.#isStopped) return;
    this.size = Math.max(this.size, piece.size);
    this.window.clear();
    // Readable text has no line numbers, because those of the file do not apply to it.
    this.window.append(this.#isReadable ? { ...piece, firstLine: null } : piece);
    this.#onChange('reset');
    if (piece.firstLine === null && !this.#isReadable) void this.#findNumbers();
  }

  /** Line numbers of a long output are unknown until its lines have been counted. */
  async #findNumbers(): Promise<void> {
    for (let asked = 0; asked < MAX_REQUESTS && !this.#isStopped; asked++) {
      const { start } = this.window;
      const { line, isComplete } = await this.#source.lineAt(start);
      if (!isComplete || this.window.start !== start) continue;
      if (this.#isStopped || this.window.firstLine !== null) return;
      this.window.firstLine = line;
      this.#onChange('numbers');
      return;
    }
  }

  #forgetFresh(): void {
    this.fresh = 0;
    this.hasMore = false;
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(() => (this.#isStopped ? undefined : work()));
    const mine = this.#last;
    // The caller gets the error. The next request is sent all the same.
    this.#last = mine.catch(() => {});
    return mine;
  }
}

async function bounded(most: number, read: (limit: number) => Promise<Piece>): Promise<Piece> {
  for (let limit = most; ; ) {
    const piece = await read(limit);
    const lines = piece.text.split('\n').length;
    if (lines <= 2 * MAX_IN_PAGE || limit <= LEAST) return piece;
    limit = Math.max(LEAST, Math.floor((limit * MAX_IN_PAGE) / lines));
  }
}
