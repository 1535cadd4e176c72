import type { Guest } from './guest-process.ts';
import { watchSpare } from './watchdog.ts';

/**
 * A guest started ahead, with what removes types loaded in it, so that the next program finds it up. Programs share nothing
 * through it: it serves one of them, and before that nothing but Squad's own code has run in it.
 */
export interface SpareGuest {
  /** Starts one where there is none. Settles when it is up, taken or gone; never rejects. */
  prepare(): Promise<void>;
  /** Null where there is none. Whoever takes it ends it. */
  take(): Guest | null;
  /** When this settles nothing that was not taken is left. */
  end(): Promise<void>;
}

interface Waiting {
  guest: Guest;
  isUp: Promise<void>;
  /** It is no longer ours to look after. */
  letGo(): void;
}

export function createSpareGuest(start: () => Guest, memoryMb: number): SpareGuest {
  let waiting: Waiting | null = null;
  let ends: Promise<unknown> = Promise.resolve();

  function begin(): Waiting {
    const guest = start();
    const { promise: isUp, resolve } = Promise.withResolvers<void>();
    const drop = () => {
      begun.letGo();
      ends = Promise.all([ends, guest.end()]);
    };
    const stopWatching = guest.pid === null ? () => {} : watchSpare(guest.pid, memoryMb, drop);
    const begun: Waiting = {
      guest,
      isUp,
      letGo() {
        stopWatching();
        resolve();
        if (waiting === begun) waiting = null;
      },
    };
    guest.hear({
      message: ({ type }) => (type === 'prepared' ? resolve() : drop()),
      nonsense: drop,
      gone: drop,
    });
    guest.send({ type: 'prepare' });
    return begun;
  }

  function take(): Guest | null {
    const taken = waiting?.guest ?? null;
    waiting?.letGo();
    return taken;
  }

  return {
    async prepare() {
      try {
        waiting ??= begin();
      } catch {
        // The start of the program itself will tell why.
      }
      await waiting?.isUp;
    },
    take,
    async end() {
      await Promise.all([take()?.end(), ends]);
    },
  };
}
