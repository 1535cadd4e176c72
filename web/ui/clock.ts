import { type ReadonlySignal, signal } from '@preact/signals';

/** What time it is, by the second while somebody looks: one timer for the whole page. */
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
