import { tooLarge } from './too-large.ts';

export interface SseEvent {
  /** `message` unless it says so. */
  type: string;
  data: string;
}

const LF = 10;
const CR = 13;
/** What a line costs beside its text. */
const LINE_COST = 8;

/** Server-sent events out of bytes. Holds no more than one event, and throws when that is over the limit. */
export class SseParser {
  lastEventId: string | null = null;
  retryMs: number | null = null;
  readonly #maxBytes: number;
  readonly #excess: typeof tooLarge;
  readonly #onEvent: (event: SseEvent) => void;
  #line: Buffer[] = [];
  #data: string[] = [];
  #type = '';
  #size = 0;
  #afterCr = false;
  #isFirst = true;

  constructor(maxBytes: number, onEvent: (event: SseEvent) => void, excess = tooLarge) {
    this.#excess = excess;
    this.#maxBytes = maxBytes;
    this.#onEvent = onEvent;
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    let from = this.#afterCr && chunk[0] === LF ? 1 : 0;
    // Each is looked for only once it was passed, or a chunk full of one would be searched for the other again and again.
    let lf = chunk.indexOf(LF, from);
    let cr = chunk.indexOf(CR, from);
    while (lf >= 0 || cr >= 0) {
      const to = lf < 0 || (cr >= 0 && cr < lf) ? cr : lf;
      this.#add(chunk.subarray(from, to));
      this.#finishLine();
      from = chunk[to] === CR && chunk[to + 1] === LF ? to + 2 : to + 1;
      if (lf >= 0 && lf < from) lf = chunk.indexOf(LF, from);
      if (cr >= 0 && cr < from) cr = chunk.indexOf(CR, from);
    }
    this.#add(chunk.subarray(from));
    // A line may end with both, and the second may be yet to come.
    this.#afterCr = chunk[chunk.length - 1] === CR;
  }

  #add(part: Buffer): void {
    if (part.length === 0) return;
    this.#size += part.length;
    if (this.#size > this.#maxBytes) throw this.#excess(this.#maxBytes);
    this.#line.push(part);
  }

  #finishLine(): void {
    const [first] = this.#line;
    const bytes = this.#line.length === 1 && first ? first : Buffer.concat(this.#line);
    this.#line = [];
    let line = bytes.toString();
    if (this.#isFirst && line.startsWith('\uFEFF')) line = line.slice(1);
    this.#isFirst = false;
    if (line === '') this.#finishEvent();
    else if (this.#takeField(line)) this.#size += LINE_COST;
    // What says nothing takes no room.
    else this.#size -= bytes.length;
  }

  /** Whether something of it is kept until the end of the event. */
  #takeField(line: string): boolean {
    const colon = line.indexOf(':');
    if (colon === 0) return false;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'data') this.#data.push(value);
    else if (name === 'event') this.#type = value;
    else if (name === 'id' && /^[\x20-\x7e]{0,1024}$/.test(value)) this.lastEventId = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) this.retryMs = Number(value);
    else return false;
    return true;
  }

  #finishEvent(): void {
    const type = this.#type || 'message';
    const data = this.#data.join('\n');
    const hasData = this.#data.length > 0 && data !== '';
    this.#data = [];
    this.#type = '';
    this.#size = 0;
    if (hasData) this.#onEvent({ type, data });
  }
}
