import { HubClient } from './hub-client.ts';

/** An agent must not open by itself what the user has not; the hub knows whether this terminal is an agent's. */
export async function refuseAgents(): Promise<void> {
  await HubClient.ask({}, 'change_trust');
}
