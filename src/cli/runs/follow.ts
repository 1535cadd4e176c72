import { setTimeout as sleep } from 'node:timers/promises';
import type { Event } from '../../schema/event.ts';
import { HubClient, HubGone, ReconnectLimit } from '../hub-client.ts';

interface FollowOptions {
  squadId?: string;
  runId?: string;
  workspace?: string;
  /** Read only events after the one with this number (default: all events). */
  after?: number;
  signal?: AbortSignal;
  /** Connects to another hub when this one has exited; starts one by default. */
  reconnect?(gone: HubClient): Promise<HubClient>;
  /** Called for each event, in order. Returns true to stop following. */
  onEvent(event: Event): boolean;
}

/** Reads events until `onEvent` returns true. If the hub restarts, it reconnects and misses no event. */
export async function follow(client: HubClient, options: FollowOptions): Promise<void> {
  const { squadId, runId, workspace, signal, onEvent, reconnect = () => HubClient.start() } = options;
  const stopped = new Promise<null>(resolve => {
    if (signal?.aborted) resolve(null);
    signal?.addEventListener('abort', () => resolve(null), { once: true });
  });
  let after = options.after ?? 0;
  let current = client;
  const limit = new ReconnectLimit();
  try {
    while (!signal?.aborted) {
      limit.connected();
      const before = after;
      try {
        const lastWanted = new Promise<void>((resolve, reject) => {
          const onItem = (item: unknown) => {
            const event = item as Event;
            // Skips repeated events: a call that one hub did not read is sent unchanged to the next.
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
        await limit.lost(after > before);
        const next = reconnect(current);
        const found = await Promise.race([next, stopped]);
        // The follower has already ended. This late connection is closed, because it would keep the program alive.
        if (found === null) return void next.then(late => late.close()).catch(() => {});
        current = found;
      }
    }
  } finally {
    // Closes a client that was opened here, because it would keep the program alive. The caller closes its own.
    if (current !== client) current.close();
  }
}

const RECONNECT_EVERY_MS = 500;

/** Waits for a hub that another program starts; never starts one. `onWait` is called once if there is no hub yet. */
export async function reconnectToHub(onWait: () => void, signal?: AbortSignal): Promise<HubClient> {
  for (let isFirst = true; ; isFirst = false) {
    const client = await HubClient.findOnly();
    if (client) return client;
    if (isFirst) onWait();
    await sleep(RECONNECT_EVERY_MS, undefined, { signal });
  }
}

/** Repeats the request at the next hub whenever a hub exits before it has answered. */
export async function untilAnswered<T>(ask: (client: HubClient) => Promise<T>): Promise<T> {
  for (const limit = new ReconnectLimit(); ; ) {
    limit.connected();
    using client = await HubClient.start();
    try {
      return await ask(client);
    } catch (thrown) {
      if (!(thrown instanceof HubGone)) throw thrown;
      await limit.lost();
    }
  }
}
