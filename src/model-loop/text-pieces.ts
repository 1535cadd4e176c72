/** Gathers words as they come and passes them on a line, or several, at a time. */
export class TextPieces {
  readonly #pass: (text: string) => void;
  #held = '';

  constructor(pass: (text: string) => void) {
    this.#pass = pass;
  }

  add(text: string): void {
    this.#held += text;
    const end = this.#held.lastIndexOf('\n');
    if (end === -1) return;
    this.#send(this.#held.slice(0, end));
    this.#held = this.#held.slice(end + 1);
  }

  end(): void {
    this.#send(this.#held);
    this.#held = '';
  }

  #send(text: string): void {
    if (text.trim() !== '') this.#pass(text);
  }
}
