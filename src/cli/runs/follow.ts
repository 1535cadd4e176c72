import { setTimeout as sleep } from 'node:timers/promises';
import type { Event } from '../../schema/event.ts';
import { backOff, failedConnect, HubClient, HubGone, MAX_FAILED_CONNECTS } from '../hub-client.ts';

interface FollowOptions {
  squadId?: string;
  runId?: string;
  workspace?: string;
  /** Only what happens after this event; otherwise from the beginning. */
  after?: number;
  /** Ends the following. */
  signal?: AbortSignal;
  /** How to get to another hub when this one has gone; it is started unless told otherwise. */
  reconnect?(gone: HubClient): Promise<HubClient>;
  /** Called with each event once, in order; true ends the following. */
  onEvent(event: Event): boolean;
}

/** Reads events until one of them is the last wanted. A hub that restarts meanwhile is found again, and nothing is missed. */
export async function follow(client: HubClient, options: FollowOptions): Promise<void> {
  const { squadId, runId, workspace, signal, onEvent, reconnect = () => HubClient.start() } = options;
  const stopped = new Promise<null>(settle => {
    if (signal?.aborted) settle(null);
    signal?.addEventListener('abort', () => settle(null), { once: true });
  });
  let after = options.after ?? 0;
  let current = client;
  let closedDoors = 0;
  try {
    while (!signal?.aborted) {
      const since = performance.now();
      const before = after;
      try {
        const lastWanted = new Promise<void>((resolve, reject) => {
          const onItem = (item: unknown) => {
            const event = item as Event;
            // A call that one hub did not take is asked of the next as it was.
            if (event.seq <= after || signal?.aborted) return;
            after = event.seq;
            if (onEvent(event)) resolve();
          };
          current.call('follow_events', { after, squadId, runId, workspace }, { onItem }).catch(reject);
        });
        await Promise.race([lastWanted, stopped]);
        return;
      } catch (thrown) {
        if (!(thrown instanceof HubGone)) throw thrown;
        const wasOfUse = after > before || performance.now() - since > STEADY_MS;
        closedDoors = wasOfUse ? 0 : closedDoors + 1;
        if (closedDoors > MAX_FAILED_CONNECTS) throw failedConnect();
        if (closedDoors > 0) await backOff(closedDoors - 1);
        const next = reconnect(current);
        const found = await Promise.race([next, stopped]);
        // Nobody waits for it any more, and it would keep the program alive.
        if (found === null) return void next.then(late => late.close()).catch(() => {});
        current = found;
      }
    }
  } finally {
    // The caller's own is the caller's to close; one opened here would keep the program alive.
    if (current !== client) current.close();
  }
}

const LOOK_EVERY_MS = 500;

/** The hub that is there, or the one that somebody starts; whoever waits here starts none. */
export async function reconnectToHub(onWait: () => void, signal?: AbortSignal): Promise<HubClient> {
  for (let isTold = false; ; isTold = true) {
    const client = await HubClient.findOnly();
    if (client) return client;
    if (!isTold) onWait();
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}

/** A hub that was there this long did not end because it was asked. */
const STEADY_MS = 5_000;

/** Asks, and asks the next hub whenever the one that was asked goes away before it has answered. */
export async function untilAnswered<T>(ask: (client: HubClient) => Promise<T>): Promise<T> {
  for (let closedDoors = 0; ; ) {
    const since = performance.now();
    const client = await HubClient.start();
    try {
      return await ask(client);
    } catch (thrown) {
      if (!(thrown instanceof HubGone)) throw thrown;
      closedDoors = performance.now() - since > STEADY_MS ? 0 : closedDoors + 1;
      if (closedDoors > MAX_FAILED_CONNECTS) throw failedConnect();
      await backOff(closedDoors);
    } finally {
      client.close();
    }
  }
}
