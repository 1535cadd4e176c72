import { type ReadonlySignal, signal } from '@preact/signals';

const STORAGE_KEY = 'squad-notifications';

/**
 * `none`: the browser does not support notifications. `blocked`: the user blocked them in the browser, and can allow
 * them only there.
 */
type NotificationState = 'none' | 'blocked' | 'off' | 'on';

export interface Notice {
  /** Id of the subject: a notification from another tab with the same tag replaces this one. */
  tag: string;
  title: string;
  body: string;
  /** Address that is opened by a click on the notification. */
  href: string;
}

const state = signal<NotificationState>(currentState());

/** Notification permission, shared by all tabs of this browser. */
export const notificationState: ReadonlySignal<NotificationState> = state;

addEventListener('storage', () => {
  state.value = currentState();
});

/** Must be called from a click handler, because browsers ask for the permission only then. */
export async function turnOn(): Promise<void> {
  if ((await Notification.requestPermission()) === 'granted') localStorage.setItem(STORAGE_KEY, 'on');
  state.value = currentState();
}

export function turnOff(): void {
  localStorage.removeItem(STORAGE_KEY);
  state.value = currentState();
}

/** Shows a notification, unless the tab is visible. */
export function notify({ tag, title, body, href }: Notice, open: (href: string) => void): void {
  if (state.peek() !== 'on' || document.visibilityState === 'visible') return;
  const shown = new Notification(title, { body, tag });
  shown.onclick = () => {
    window.focus();
    open(href);
    shown.close();
  };
}

function currentState(): NotificationState {
  if (!('Notification' in window)) return 'none';
  if (Notification.permission === 'denied') return 'blocked';
  return Notification.permission === 'granted' && localStorage.getItem(STORAGE_KEY) === 'on' ? 'on' : 'off';
}
