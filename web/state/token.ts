import { signal } from '@preact/signals';

const KEPT = 'squad-token';
const CHANNEL = 'squad-token';

/** What shows the hub that this page is the user's. Null: the page is locked. */
export const token = signal<string | null>(null);

/** From the address, where it does not stay; from this tab before it was reloaded; or from another tab of the same hub. */
export function findToken(): void {
  const given = /^#token=([^&]+)/.exec(location.hash)?.[1];
  if (given !== undefined) history.replaceState(null, '', location.pathname + location.search);
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }: MessageEvent<{ ask: true } | { token: string }>) => {
    if ('ask' in data) {
      if (token.value !== null) channel.postMessage({ token: token.value });
    } else if (token.value === null) setToken(data.token);
  };
  const known = given ?? sessionStorage.getItem(KEPT);
  if (known === null) channel.postMessage({ ask: true });
  else setToken(known);
}

function setToken(value: string): void {
  sessionStorage.setItem(KEPT, value);
  token.value = value;
}

/** The hub does not know it, or not any more. */
export function dropToken(): void {
  sessionStorage.removeItem(KEPT);
  token.value = null;
}
