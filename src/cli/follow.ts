import type { Event } from '../schema/event.ts';
import { backOff, closedDoor, HubClient, HubGone, MOST_CLOSED_DOORS } from './hub-client.ts';

export interface FollowOptions {
  squadId?: string;
  runId?: string;
  /** Called with each event once, in order; true ends the following. */
  onEvent(event: Event): boolean;
}

/** A hub that was there this long did not end because it was asked, though there was nothing to tell. */
const STEADY_MS = 5_000;

/** Reads events until one of them is the last wanted. A hub that restarts meanwhile is found again, and nothing is missed. */
export async function follow(client: HubClient, { squadId, runId, onEvent }: FollowOptions): Promise<void> {
  let after = 0;
  let current = client;
  let closedDoors = 0;
  try {
    for (;;) {
      const since = Date.now();
      const before = after;
      try {
        await new Promise<void>((resolve, reject) => {
          const onItem = (item: unknown) => {
            const event = item as Event;
            after = event.seq;
            if (onEvent(event)) resolve();
          };
          current.call('follow_events', { after, squadId, runId }, { onItem }).catch(reject);
        });
        return;
      } catch (thrown) {
        if (!(thrown instanceof HubGone)) throw thrown;
        const wasOfUse = after > before || Date.now() - since > STEADY_MS;
        closedDoors = wasOfUse ? 0 : closedDoors + 1;
        if (closedDoors > MOST_CLOSED_DOORS) throw closedDoor();
        if (closedDoors > 0) await backOff(closedDoors - 1);
        current = await HubClient.start();
      }
    }
  } finally {
    // The caller's own is the caller's to close; one opened here would keep the program alive.
    if (current !== client) current.close();
  }
}
