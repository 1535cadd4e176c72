import { setTimeout as sleep } from 'node:timers/promises';
import { HubClient } from '../hub-client.ts';

const LOOK_EVERY_MS = 500;

/** The hub that is there, or the one that somebody starts; whoever waits here starts none. */
export async function nextHub(onWait: () => void, signal?: AbortSignal): Promise<HubClient> {
  for (let isTold = false; ; isTold = true) {
    const client = await HubClient.findOnly();
    if (client) return client;
    if (!isTold) onWait();
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}
