import { effect, signal } from '@preact/signals';
import { isProved, whoAnswers } from './hub-proof.ts';

const KEPT = 'squad-token';
const CHANNEL = 'squad-token';

/** Token of the browser session, which ends with the hub process that opened it. Null if the user is not signed in. */
export const token = signal<string | null>(null);

/**
 * Finds the token. It comes from the hub, in exchange for the key in the address (which is removed); from this tab
 * before it was reloaded; or from another tab of the same hub. Resolves when that is certain, except for the last case.
 */
export async function findToken(): Promise<void> {
  const key = /^#key=([^&]+)/.exec(location.hash)?.[1];
  if (key !== undefined) history.replaceState(null, '', location.pathname + location.search);
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = async ({ data }: MessageEvent<{ ask: true } | { token: string }>) => {
    if ('token' in data) token.value ??= data.token;
    // To the browser, a tab that another program served on this port looks like one of ours, so the hub is checked
    // first.
    else if (token.value !== null && (await whoAnswers(token.value)) === 'hub')
      channel.postMessage({ token: token.value });
  };
  const given = key === undefined ? null : await tokenFor(key);
  token.value ??= given ?? sessionStorage.getItem(KEPT);
  if (token.value === null) channel.postMessage({ ask: true });
  addEventListener('beforeunload', leave);
  // A token found after a reload is kept until the first proof. Otherwise a second reload would find none.
  if (token.value === null) effect(keep);
  else void whoAnswers(token.value).finally(() => effect(keep));
}

/**
 * Stores the token only while the hub is verified. Another program on the port could serve the page after a reload and
 * read the token.
 */
function keep(): void {
  if (token.value !== null && isProved.value) sessionStorage.setItem(KEPT, token.value);
  else if (token.value === null || !isLeaving.value) sessionStorage.removeItem(KEPT);
}

/**
 * True while the browser leaves the page. It then closes connections by itself, so a broken connection does not mean
 * that the hub is gone.
 */
const isLeaving = signal(false);
const LEAVE_MS = 2_000;

function leave(): void {
  isLeaving.value = true;
  // A download also fires `beforeunload`, but the page stays.
  setTimeout(() => {
    isLeaving.value = false;
  }, LEAVE_MS);
}

/**
 * Exchanges the key for a token. Null if the key was used or has expired. The browser history keeps the key, so it
 * works only once.
 */
async function tokenFor(key: string): Promise<string | null> {
  const answer = await fetch('/api/session', {
    method: 'POST',
    body: JSON.stringify({ key }),
    headers: { 'Content-Type': 'application/json' },
    cache: 'no-store',
  }).catch(() => null);
  const value = answer?.ok ? await answer.json().catch(() => null) : null;
  return typeof value?.token === 'string' ? value.token : null;
}

/** Called when the hub no longer accepts the token. */
export function dropToken(): void {
  token.value = null;
}
