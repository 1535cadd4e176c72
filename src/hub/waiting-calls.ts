/** Timeout for a client that does not read its answer. */
const ANSWER_TIMEOUT_MS = 500;

/**
 * Calls that wait for a person, which may take days: the hub does not stay open for them. When the hub stops, it
 * answers each with the current state, so that no agent mistakes the end of the hub for an answer.
 */
export class WaitingCalls {
  private readonly stopping = new AbortController();
  private waiting = 0;
  private answered = 0;
  private onAnswered = () => {};

  get count(): number {
    return this.waiting;
  }

  /** Runs `wait` with a signal that is aborted when the hub stops. `wait` must then return at once. */
  async while<T>(wait: (stopping: AbortSignal) => Promise<T>): Promise<T> {
    // The hub is already stopping. Without this, a client that retries as advised would get the same answer again and
    // again.
    if (this.stopping.signal.aborted) return wait(new AbortController().signal);
    this.waiting++;
    try {
      return await wait(this.stopping.signal);
    } finally {
      this.waiting--;
    }
  }

  /** Called with the number of calls, of any kind, that were answered. */
  reportAnswered(count: number): void {
    this.answered += count;
    this.onAnswered();
  }

  /** Ends all waiting calls. Resolves when they are answered. */
  async end(): Promise<void> {
    const before = this.waiting;
    this.answered = 0;
    this.stopping.abort();
    await new Promise(settle => setImmediate(settle));
    const released = before - this.waiting;
    if (this.answered >= released) return;
    await new Promise<void>(settle => {
      const tooLate = setTimeout(settle, ANSWER_TIMEOUT_MS);
      this.onAnswered = () => {
        if (this.answered < released) return;
        clearTimeout(tooLate);
        settle();
      };
    });
  }
}
