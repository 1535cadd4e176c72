import { type Trouble, troubleNote } from '../../core/gateway/degradation.ts';

/** What the result of one run says of servers that it had and could not use: each once, however often it comes. */
export class RunTroubles {
  readonly #onTrouble: (text: string) => void;
  readonly #told = new Set<string>();

  constructor(onTrouble: (text: string) => void) {
    this.#onTrouble = onTrouble;
  }

  tell(server: string, trouble: Trouble, fault: string): void {
    this.note(troubleNote(server, trouble, fault), `${server} ${trouble}`);
  }

  note(text: string, key = text): void {
    if (this.#told.has(key)) return;
    this.#told.add(key);
    this.#onTrouble(text);
  }
}
