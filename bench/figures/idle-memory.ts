import { setTimeout as delay } from 'node:timers/promises';
import { BenchSquad } from '../bench-squad.ts';
import { type Figure, single } from '../figure.ts';
import { canReadMemory, memoryOf } from '../process-memory.ts';

const MAX_MB = 110;
const IDLE_MS = 3_000;

/** Memory of hub and relay while a client is connected and nothing runs. */
export const idleMemory: Figure = {
  name: 'idle-memory',
  title: 'Memory of hub and relay while nothing runs',
  async measure() {
    if (!canReadMemory) return [];
    await using squad = new BenchSquad();
    const first = await idle(squad);
    await squad.stopHub();
    const later = await idle(squad);
    return [
      single('very first start', 'MB', first.hub + first.relay),
      single('hub', 'MB', later.hub),
      single('relay', 'MB', later.relay),
      single('hub and relay', 'MB', later.hub + later.relay, {
        target: `≤ ${MAX_MB} MB`,
        isMet: ({ value }) => value <= MAX_MB,
        note: 'RSS: the program text of Node, about 40 MB, is in both',
      }),
    ];
  },
};

async function idle(squad: BenchSquad): Promise<{ hub: number; relay: number }> {
  const hub = await squad.hubPid();
  const client = squad.client();
  await client.initialize();
  await client.request('tools/list', {});
  await delay(IDLE_MS);
  const found = { hub: memoryOf(hub).now, relay: memoryOf(client.pid).now };
  await client.close();
  return found;
}
