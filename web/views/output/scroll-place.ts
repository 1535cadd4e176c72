/** This close to the end, in pixels, is at the end. */
const AT_END = 24;
/** Browsers round where they scroll to. */
const ROUNDING = 1;

/**
 * What is held in sight of a scrolling element while heights change under it: its end, or a line. Blocks out of sight have a height
 * that is only guessed, so every move may have to be made again when they are drawn. Whatever we did not move, the reader did.
 */
export class ScrollPlace {
  readonly #box: HTMLElement;
  readonly #isAtEnd: () => boolean;
  readonly #sizes: ResizeObserver;
  #line: HTMLElement | null = null;
  /** Where we put it, or saw it last. */
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

  /** How much there is below what is in sight. */
  get below(): number {
    return this.#box.scrollHeight - this.#box.scrollTop - this.#box.clientHeight;
  }

  /** That line stays in the middle until the reader scrolls. Null: none does. */
  hold(line: HTMLElement | null): void {
    this.#line = line;
    line?.scrollIntoView({ block: 'center' });
    this.#top = this.#box.scrollTop;
  }

  /** Changes what is drawn, and leaves in sight what was: the reader has not moved by it. */
  during(draw: () => void, isNew: boolean): void {
    const isHeld = this.#isAtEnd() || this.#line?.isConnected;
    const anchor = isHeld || isNew ? null : anchorIn(this.#box);
    draw();
    if (anchor) this.#box.scrollTop += anchor.moved();
    this.keep();
  }

  /** Again, where it is to be. */
  keep(): void {
    const box = this.#box;
    if (this.#isAtEnd()) {
      this.#line = null;
      box.scrollTop = box.scrollHeight;
    } else if (this.#line?.isConnected) box.scrollTop += fromMiddle(box, this.#line);
    this.#top = box.scrollTop;
  }

  /** What the reader did: went up from the end, reached it, or anything else. Null: it was not the reader. */
  readerMove(): 'left-end' | 'reached-end' | 'elsewhere' | null {
    const by = this.#box.scrollTop - this.#top;
    if (Math.abs(by) <= ROUNDING) return null;
    const isAtEnd = this.below <= AT_END;
    // Little by little is away from it too.
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

/** What is read stays where it is, whatever comes or goes above it. */
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
