import { homeFolder } from './home.ts';
import { hubPid, recordedPid } from './hub-record.ts';
import { connectOrStart, type HubProgram } from './start-hub.ts';

/**
 * Starts the next hub if the last one was killed, for an agent whose call has lost it. A hub that ended in order has
 * removed its record, and stays stopped until the user starts another one. Never throws: the agent's next attempt
 * reports what is wrong.
 */
export async function replaceKilledHub(env: NodeJS.ProcessEnv, program: HubProgram): Promise<void> {
  try {
    const home = homeFolder(env);
    if (recordedPid(home) === null || hubPid(home) !== null) return;
    (await connectOrStart({ home, env, program })).destroy();
  } catch {} // in a sandbox and on another machine there is no hub to start
}
