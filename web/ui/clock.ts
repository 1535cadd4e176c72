import { type ReadonlySignal, signal } from '@preact/signals';

/** The current time, updated every second while a component uses it: one timer for all. */
let timer: ReturnType<typeof setInterval> | undefined;
const time = signal(Date.now(), {
  watched() {
    time.value = Date.now();
    timer = setInterval(() => {
      if (!document.hidden) time.value = Date.now();
    }, 1000);
  },
  unwatched: () => clearInterval(timer),
});

export const now: ReadonlySignal<number> = time;
