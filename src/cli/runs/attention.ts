import type { Terminal } from '../terminal/terminal.ts';

const BELL = '\u0007';
/** Terminals keep the title on a stack of their own; those that have none ignore it. */
const KEEP_TITLE = '\u001b[22;0t';
const TITLE_BACK = '\u001b[23;0t';
const title = (words: string) => `\u001b]0;${words}\u0007`;

/** Calls the user back to a screen that is not looked at: by its title while somebody waits, and by the bell when it begins. */
export class Attention {
  readonly #terminal: Terminal;
  #waiting = 0;
  #isTitleOurs = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** So many wait now. */
  show(waiting: number): void {
    if (!this.#terminal.isTTY || waiting === this.#waiting) return;
    const isMore = waiting > this.#waiting;
    this.#waiting = waiting;
    if (waiting === 0) this.close();
    else this.#call(waiting, isMore);
  }

  /** Puts the title back that was there. */
  close(): void {
    if (this.#isTitleOurs) this.#terminal.write(TITLE_BACK);
    this.#isTitleOurs = false;
  }

  #call(waiting: number, isMore: boolean): void {
    if (!this.#isTitleOurs) this.#terminal.write(KEEP_TITLE);
    this.#isTitleOurs = true;
    this.#terminal.write(`${title(`(${waiting}) Squad needs you`)}${isMore ? BELL : ''}`);
  }
}
