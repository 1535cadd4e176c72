import type { Connected } from './connect.ts';
import type { LinkInUse } from './link-in-use.ts';

/** Links on their way out, so that whoever ends a server can wait until all of it is gone. */
export class Departures {
  readonly #leaving = new Set<LinkInUse>();
  readonly #closing = new Set<Promise<void>>();

  /** Its calls are let finish. */
  leave(link: LinkInUse): void {
    this.#leaving.add(link);
    this.#follow(link.leave().finally(() => this.#leaving.delete(link)));
  }

  close(link: Connected): void {
    this.#follow(link.close());
  }

  /** Nobody waits for the calls of those that are leaving. */
  hurry(): void {
    for (const { link } of this.#leaving) this.close(link);
  }

  async done(): Promise<void> {
    await Promise.all(this.#closing);
  }

  #follow(closing: Promise<void>): void {
    const gone = closing.catch(() => {}).finally(() => this.#closing.delete(gone));
    this.#closing.add(gone);
  }
}
