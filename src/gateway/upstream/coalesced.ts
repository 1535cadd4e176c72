/** Work that is asked for over and over: one turn of it under way, and at most one to come, whoever asks meanwhile. */
export class Coalesced {
  readonly #work: () => Promise<void>;
  #underWay: Promise<void> | null = null;
  #toCome: Promise<void> | null = null;

  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  /** Settles when a turn that began after this was called is over. */
  run(): Promise<void> {
    if (this.#underWay === null) return this.#begin();
    this.#toCome ??= this.#underWay
      .catch(() => {})
      .then(() => {
        this.#toCome = null;
        return this.#begin();
      });
    return this.#toCome;
  }

  #begin(): Promise<void> {
    const turn = this.#work().finally(() => {
      if (this.#underWay === turn) this.#underWay = null;
    });
    this.#underWay = turn;
    return turn;
  }
}
