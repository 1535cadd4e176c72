/** A client that does not take its answer is not waited for any longer than this. */
const TAKEN_MS = 500;

/**
 * Calls that wait for a person, which may be for days: nothing else waits for them. When the hub stops, each is answered with
 * what there is, so that no agent takes the end of the hub for an answer.
 */
export class WaitingCalls {
  private readonly stopping = new AbortController();
  private waiting = 0;
  private answered = 0;
  private onAnswered = () => {};

  get count(): number {
    return this.waiting;
  }

  /** The signal says: answer now, the hub stops. */
  async while<T>(wait: (stopping: AbortSignal) => Promise<T>): Promise<T> {
    // Who was just told to ask again, and does so before the hub is gone, would be told the same without end.
    if (this.stopping.signal.aborted) return wait(new AbortController().signal);
    this.waiting++;
    try {
      return await wait(this.stopping.signal);
    } finally {
      this.waiting--;
    }
  }

  /** So many calls, of whatever kind, have their answers. */
  took(count: number): void {
    this.answered += count;
    this.onAnswered();
  }

  /** Settles when those that end now have their answers. */
  async end(): Promise<void> {
    const before = this.waiting;
    this.answered = 0;
    this.stopping.abort();
    await new Promise(settle => setImmediate(settle));
    const released = before - this.waiting;
    if (this.answered >= released) return;
    await new Promise<void>(settle => {
      const tooLate = setTimeout(settle, TAKEN_MS);
      this.onAnswered = () => {
        if (this.answered < released) return;
        clearTimeout(tooLate);
        settle();
      };
    });
  }
}
