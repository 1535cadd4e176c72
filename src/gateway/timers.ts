/** Waits that do not hang on the wall clock, so that a machine that slept or was set right brings no storm of retries. */
export interface Timers {
  /** Returns how to call it off. */
  after(ms: number, run: () => void): () => void;
}

export const realTimers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
