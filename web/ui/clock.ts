import { type ReadonlySignal, signal } from '@preact/signals';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The current time, updated while a component uses it: one timer for all. */
function ticking(everyMs: number): ReadonlySignal<number> {
  let timer: ReturnType<typeof setInterval> | undefined;
  const time = signal(Date.now(), {
    watched() {
      time.value = Date.now();
      timer = setInterval(() => {
        if (!document.hidden) time.value = Date.now();
      }, everyMs);
    },
    unwatched: () => clearInterval(timer),
  });
  return time;
}

/** The current time to the second. */
export const now = ticking(1_000);
const nowOfMinutes = ticking(15_000);
const nowOfHours = ticking(5 * MINUTE_MS);

/**
 * The current time for a text about the time `at`. The older `at` is, the more rarely it changes, because otherwise
 * thousands of old rows would be drawn every second.
 */
export function nowFor(at: number): ReadonlySignal<number> {
  const distance = Math.abs(Date.now() - at);
  return distance < MINUTE_MS ? now : distance < HOUR_MS ? nowOfMinutes : nowOfHours;
}
