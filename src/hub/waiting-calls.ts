/** How long the hub waits for a client that does not read its answer. */
const ANSWER_TIMEOUT_MS = 500;

/**
 * Calls that wait for a person, which may take days: the hub does not stay for them. When the hub stops, it answers each with
 * the current state, so that no agent takes the end of the hub for an answer.
 */
export class WaitingCalls {
  private readonly stopping = new AbortController();
  private waiting = 0;
  private answered = 0;
  private onAnswered = () => {};

  get count(): number {
    return this.waiting;
  }

  /** The signal is aborted when the hub stops: answer now. */
  async while<T>(wait: (stopping: AbortSignal) => Promise<T>): Promise<T> {
    // Otherwise a client that retries as advised before the hub has exited would get the same answer again and again.
    if (this.stopping.signal.aborted) return wait(new AbortController().signal);
    this.waiting++;
    try {
      return await wait(this.stopping.signal);
    } finally {
      this.waiting--;
    }
  }

  /** Reports that this many calls, of any kind, were answered. */
  reportAnswered(count: number): void {
    this.answered += count;
    this.onAnswered();
  }

  /** Settles when the calls that end now are answered. */
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
