import { backOff, closedDoor, HubClient, HubGone, MOST_CLOSED_DOORS } from '../hub-client.ts';

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
      if (closedDoors > MOST_CLOSED_DOORS) throw closedDoor();
      await backOff(closedDoors);
    } finally {
      client.close();
    }
  }
}
