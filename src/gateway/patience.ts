import type { Timers } from './timers.ts';

/** Settles with what is waited for, or when the time is over, whichever is first. */
export function atMost(timers: Timers, ms: number, wait: Promise<unknown>): Promise<void> {
  return new Promise(resolve => {
    const cancel = timers.after(ms, resolve);
    const done = () => {
      cancel();
      resolve();
    };
    wait.then(done, done);
  });
}
