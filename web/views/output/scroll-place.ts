/** Distance from the end, in pixels, that still counts as the end. */
const AT_END = 24;
/** Tolerance in pixels, because browsers round scroll positions. */
const ROUNDING = 1;

/**
 * Keeps the end or one line of a scrolling element visible while heights change. The height of a block that is not rendered
 * is only estimated, so scrolling is repeated when blocks are drawn. Any scrolling that this class did not do came from the reader.
 */
export class ScrollPlace {
  readonly #box: HTMLElement;
  readonly #isAtEnd: () => boolean;
  readonly #sizes: ResizeObserver;
  #line: HTMLElement | null = null;
  /** Scroll position that this class last set or read. */
  #top = 0;

  constructor(box: HTMLElement, lines: HTMLElement, isAtEnd: () => boolean) {
    this.#box = box;
    this.#isAtEnd = isAtEnd;
    this.#sizes = new ResizeObserver(() => this.keep());
    this.#sizes.observe(box);
    this.#sizes.observe(lines);
  }

  stop(): void {
    this.#sizes.disconnect();
  }

  /** Number of pixels below the visible area. */
  get below(): number {
    return this.#box.scrollHeight - this.#box.scrollTop - this.#box.clientHeight;
  }

  /** Keeps a line in the middle until the reader scrolls. With null no line is kept. */
  hold(line: HTMLElement | null): void {
    this.#line = line;
    line?.scrollIntoView({ block: 'center' });
    this.#top = this.#box.scrollTop;
  }

  /** Redraws without moving the lines that the reader sees. */
  during(draw: () => void, isNew: boolean): void {
    const isHeld = this.#isAtEnd() || this.#line?.isConnected;
    const anchor = isHeld || isNew ? null : anchorIn(this.#box);
    draw();
    if (anchor) this.#box.scrollTop += anchor.moved();
    this.keep();
  }

  /** Scrolls to the end or the line that is to stay visible. */
  keep(): void {
    const box = this.#box;
    if (this.#isAtEnd()) {
      this.#line = null;
      box.scrollTop = box.scrollHeight;
    } else if (this.#line?.isConnected) box.scrollTop += fromMiddle(box, this.#line);
    this.#top = box.scrollTop;
  }

  /**
   * How the reader has scrolled: away from the end, to the end, or elsewhere. Null if the reader has not scrolled.
   */
  readerMove(): 'left-end' | 'reached-end' | 'elsewhere' | null {
    const by = this.#box.scrollTop - this.#top;
    if (Math.abs(by) <= ROUNDING) return null;
    const isAtEnd = this.below <= AT_END;
    // `#top` stays unchanged, so that many small steps upwards add up to one move.
    if (this.#isAtEnd()) return by < 0 && !isAtEnd ? 'left-end' : null;
    this.#top = this.#box.scrollTop;
    this.#line = null;
    return by > 0 && isAtEnd ? 'reached-end' : 'elsewhere';
  }
}

function fromMiddle(box: HTMLElement, line: HTMLElement): number {
  const { top, height } = line.getBoundingClientRect();
  return top - box.getBoundingClientRect().top - box.clientTop - (box.clientHeight - height) / 2;
}

/** Measures how far the first visible block moved, so that added or removed lines above it do not move the text. */
function anchorIn(box: HTMLElement): { moved(): number } | null {
  const { top } = box.getBoundingClientRect();
  const pages = [...(box.querySelector('.out-lines')?.children ?? [])];
  const page = pages.find(one => one.getBoundingClientRect().bottom > top);
  const block =
    page && [...page.querySelectorAll('.out-block')].find(one => one.getBoundingClientRect().bottom > top);
  if (!block) return null;
  const before = block.getBoundingClientRect().top;
  return { moved: () => (block.isConnected ? block.getBoundingClientRect().top - before : 0) };
}
