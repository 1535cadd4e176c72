import type { AnsiLine } from '../../ui/ansi.ts';
import { cutLine, drawSpan, lengthOf } from '../../ui/ansi-dom.ts';
import type { OutputWindow, WindowPage } from './output-window.ts';

const BLOCK = 200;
/** Number of characters of a long line that are drawn at first. */
const MAX_LINE_LENGTH = 4_000;
/** Number of characters that are added each time the user asks for more. */
const MORE = 100_000;

interface Drawn {
  element: HTMLElement;
  lines: readonly AnsiLine[];
}

/** Draws a window. Drawn lines stay, new lines are added in blocks, and the browser does not render blocks outside the visible area. */
export class OutputPane {
  readonly #host: HTMLElement;
  #pages = new Map<number, Drawn>();

  constructor(host: HTMLElement) {
    this.#host = host;
  }

  draw(window: OutputWindow): void {
    const wanted = new Set(window.pages.map(({ id }) => id));
    for (const [id, { element }] of this.#pages) {
      if (wanted.has(id)) continue;
      element.remove();
      this.#pages.delete(id);
    }
    let next: ChildNode | null = this.#host.firstChild;
    for (const page of window.pages) {
      const drawn = this.#drawPage(page);
      if (drawn === next) next = next.nextSibling;
      else this.#host.insertBefore(drawn, next);
    }
    this.#number(window);
  }

  clear(): void {
    this.#pages.clear();
    this.#host.replaceChildren();
  }

  /** Element of the line with this number. Null if the line is not loaded. */
  lineElement(window: OutputWindow, line: number): HTMLElement | null {
    for (const page of window.pages) {
      const first = window.lineOf(page);
      if (first === null) return null;
      if (line < first || line >= first + page.lines.length) continue;
      return this.#lineAt(page, line - first);
    }
    return null;
  }

  /** The first line of the page that starts at this byte. */
  firstAt(window: OutputWindow, offset: number): HTMLElement | null {
    const page = window.pages.find(({ start }) => start === offset);
    return page ? this.#lineAt(page, 0) : null;
  }

  numberOf(window: OutputWindow, element: Element): number | null {
    for (const page of window.pages) {
      const drawn = this.#pages.get(page.id);
      if (!drawn?.element.contains(element)) continue;
      const first = window.lineOf(page);
      const at = [...drawn.element.querySelectorAll('.out-line')].indexOf(element);
      return first === null || at < 0 ? null : first + at;
    }
    return null;
  }

  #lineAt(page: WindowPage, index: number): HTMLElement | null {
    const block = this.#pages.get(page.id)?.element.children[Math.floor(index / BLOCK)];
    return (block?.children[index % BLOCK] as HTMLElement | undefined) ?? null;
  }

  #drawPage({ id, lines }: WindowPage): HTMLElement {
    const known = this.#pages.get(id);
    if (known) {
      // A page that is drawn can change only in its unfinished last line.
      if (known.lines !== lines) this.#redrawLast(known, lines);
      return known.element;
    }
    const element = document.createElement('div');
    for (let at = 0; at < lines.length; at += BLOCK) {
      const block = document.createElement('div');
      block.className = 'out-block';
      const drawn = lines.slice(at, at + BLOCK).map(drawLine);
      block.append(...drawn);
      block.style.containIntrinsicBlockSize = `auto calc(var(--out-line) * ${drawn.length})`;
      element.append(block);
    }
    this.#pages.set(id, { element, lines });
    return element;
  }

  #redrawLast(known: Drawn, lines: readonly AnsiLine[]): void {
    known.lines = lines;
    known.element.lastElementChild?.lastElementChild?.replaceWith(drawLine(lines.at(-1) ?? []));
  }

  #number(window: OutputWindow): void {
    this.#host.classList.toggle('has-numbers', window.firstLine !== null);
    for (const page of window.pages) {
      const first = window.lineOf(page);
      if (first === null) continue;
      for (const [index, block] of [...this.#pages.get(page.id)!.element.children].entries()) {
        // The counter is reset on the first line inside the block, because `content-visibility` scopes counters to the
        // block.
        const line = block.firstElementChild as HTMLElement | null;
        const reset = `out ${first - 1 + index * BLOCK}`;
        if (line && line.style.counterReset !== reset) line.style.counterReset = reset;
      }
    }
  }
}

function drawLine(line: AnsiLine): HTMLElement {
  const element = document.createElement('div');
  element.className = 'out-line';
  drawPart(element, line, MAX_LINE_LENGTH);
  return element;
}

function drawPart(element: HTMLElement, line: AnsiLine, most: number): void {
  const left = lengthOf(line) - most;
  element.replaceChildren(...(left > 0 ? cutLine(line, most) : line).map(drawSpan));
  if (left <= 0) return;
  const more = document.createElement('button');
  more.type = 'button';
  more.className = 'out-more';
  const next = Math.min(left, MORE).toLocaleString();
  more.textContent = `show ${next} ${left > MORE ? `of ${left.toLocaleString()} ` : ''}more characters`;
  more.addEventListener('click', () => drawPart(element, line, most + MORE));
  element.append(more);
}
