import type { Event } from '../schema/event.ts';
import { HubClient, HubGone } from './hub-client.ts';

export interface FollowOptions {
  squadId?: string;
  runId?: string;
  /** Called with each event once, in order; true ends the following. */
  onEvent(event: Event): boolean;
}

/** Reads events until one of them is the last wanted. A hub that restarts meanwhile is found again, and nothing is missed. */
export async function follow(client: HubClient, { squadId, runId, onEvent }: FollowOptions): Promise<void> {
  let after = 0;
  let current = client;
  try {
    for (;;) {
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
        current = await HubClient.start();
      }
    }
  } finally {
    // The caller's own is the caller's to close; one opened here would keep the program alive.
    if (current !== client) current.close();
  }
}
