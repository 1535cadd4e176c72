import { HubClient } from './hub-client.ts';

/** An agent must not open by itself what the user has not; the hub knows whether this terminal is an agent's. */
export async function refuseAgents(): Promise<void> {
  const client = await HubClient.start();
  await client.call('change_trust').finally(() => client.close());
}
