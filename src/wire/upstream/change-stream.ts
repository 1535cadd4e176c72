import { setTimeout as delay } from 'node:timers/promises';
import { isObject } from '../../base/json.ts';
import { type Json, type LinkEvents, UpstreamFault } from './link.ts';
import type { Multiplexer } from './multiplexer.ts';

const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 60_000;
/** Duration from which a stream resets the retry delay when it ends. */
const STABLE_MS = 30_000;

const KINDS = ['tools', 'prompts', 'resources'] as const;

/**
 * Keeps a stream of changes open until `signal` aborts. `open` settles at the end of the stream, with false if the
 * server offers none. Changes may be missed between two streams, so after a gap each list counts as changed.
 */
export async function reconnectStream(
  open: () => Promise<boolean>,
  afterGap: () => void,
  signal: AbortSignal,
): Promise<void> {
  for (let pause = FIRST_PAUSE_MS; !signal.aborted; ) {
    const openedAt = performance.now();
    try {
      if (!(await open())) return;
    } catch (fault) {
      if (!(fault instanceof UpstreamFault) || fault.kind === 'unauthorized' || fault.kind === 'answer')
        return;
      pause = Math.max(pause, fault.retryAfterMs ?? 0);
    }
    if (performance.now() - openedAt > STABLE_MS) pause = FIRST_PAUSE_MS;
    await delay(pause, undefined, { signal, ref: false }).catch(() => {});
    pause = Math.min(pause * 2, MAX_PAUSE_MS);
    if (!signal.aborted) afterGap();
  }
}

/** Lists for which the server declares change notifications. */
export const changing = (capabilities: Json): (typeof KINDS)[number][] =>
  KINDS.filter(kind => {
    const declared = capabilities[kind];
    return isObject(declared) && declared.listChanged === true;
  });

export function notifyAllListsChanged(capabilities: Json, events: LinkEvents): void {
  for (const kind of changing(capabilities)) events.onNotification(`notifications/${kind}/list_changed`, {});
}

/** Subscribes as modern clients do, with one request that stays open, to everything that the server offers. */
export async function subscribe(
  mux: Multiplexer,
  capabilities: Json,
  events: LinkEvents,
  signal: AbortSignal,
): Promise<void> {
  const kinds = changing(capabilities);
  if (kinds.length === 0) return;
  const notifications = Object.fromEntries(kinds.map(kind => [`${kind}ListChanged`, true]));
  await reconnectStream(
    async () => {
      await mux.standing('subscriptions/listen', { notifications }, signal);
      return true;
    },
    () => notifyAllListsChanged(capabilities, events),
    signal,
  );
}
