import { type ReadonlySignal, signal } from '@preact/signals';

const KEPT = 'squad-notifications';

/** `none`: this browser has no such thing. `blocked`: the user told the browser so, and only there it can be changed. */
export type Telling = 'none' | 'blocked' | 'off' | 'on';

export interface Notice {
  /** Of what it tells: another tab that tells the same takes its place. */
  tag: string;
  title: string;
  body: string;
  /** What a click opens. */
  href: string;
}

const state = signal<Telling>(found());

/** Of this browser, for all its tabs. */
export const telling: ReadonlySignal<Telling> = state;

addEventListener('storage', () => {
  state.value = found();
});

/** Has to come of a click: browsers ask for nothing else. */
export async function turnOn(): Promise<void> {
  if ((await Notification.requestPermission()) === 'granted') localStorage.setItem(KEPT, 'on');
  state.value = found();
}

export function turnOff(): void {
  localStorage.removeItem(KEPT);
  state.value = found();
}

/** Whoever has the page before them sees it there. */
export function notify({ tag, title, body, href }: Notice, open: (href: string) => void): void {
  if (state.peek() !== 'on' || document.visibilityState === 'visible') return;
  const shown = new Notification(title, { body, tag });
  shown.onclick = () => {
    window.focus();
    open(href);
    shown.close();
  };
}

function found(): Telling {
  if (!('Notification' in window)) return 'none';
  if (Notification.permission === 'denied') return 'blocked';
  return Notification.permission === 'granted' && localStorage.getItem(KEPT) === 'on' ? 'on' : 'off';
}
