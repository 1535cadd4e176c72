/** Enough to be read as it comes. A line that goes on is passed on by its words, so that none is parted. */
const LONG = 64 * 1024;

/** Gathers words as they come and passes them on a line, or several, at a time. */
export class TextPieces {
  readonly #pass: (text: string) => void;
  #held = '';

  constructor(pass: (text: string) => void) {
    this.#pass = pass;
  }

  add(text: string): void {
    const end = text.lastIndexOf('\n');
    const cut = end === -1 && this.#held.length >= LONG ? text.lastIndexOf(' ') : end;
    if (cut === -1) {
      this.#held += text;
      return;
    }
    this.#send(this.#held + text.slice(0, cut));
    this.#held = text.slice(cut + 1);
  }

  end(): void {
    this.#send(this.#held);
    this.#held = '';
  }

  #send(text: string): void {
    if (text.trim() !== '') this.#pass(text);
  }
}
