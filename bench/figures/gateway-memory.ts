import { join } from 'node:path';
import { type Figure, type Row, single } from '../figure.ts';
import { GatewaySquad } from '../gateway/gateway-squad.ts';
import { type Caller, callEcho, load } from '../gateway/load.ts';
import { askHub } from '../hub-line.ts';
import { canReadMemory, forgetPeak, memoryOf } from '../process-memory.ts';

const AGENTS = 50;
const IN_FLIGHT = 8;
const CALLS = 200;
const MAX_HUB_MB = 150;

/** Many agents that call without a pause, half of them over HTTP and half over stdio. */
export const gatewayMemory: Figure = {
  name: 'gateway-memory',
  title: `${AGENTS} agents with ${IN_FLIGHT} calls of another server in flight each`,
  async measure() {
    await using squad = new GatewaySquad();
    const echo = join(import.meta.dirname, '..', '..', 'test', 'servers', 'echo.ts');
    await squad.serve({ echo: { command: process.execPath, args: [echo], tools: ['echo'] } });
    const identities = await squad.agents(AGENTS);
    const callers: Caller[] = [];
    for (const [i, identity] of identities.entries())
      callers.push(await (i % 2 === 0 ? squad.overHttp(identity) : squad.overStdio(identity)));
    await squad.ready(callers[0]!, 1);
    await Promise.all(callers.map(caller => callEcho(caller, 'echo__echo', 'first')));

    const hub = await squad.hubPid();
    if (canReadMemory) forgetPeak(hub);
    const start = performance.now();
    const asked = askedMeanwhile(squad);
    await Promise.all(
      callers.map(caller => load(caller, 'echo__echo', { calls: CALLS, inFlight: IN_FLIGHT })),
    );
    const seconds = (performance.now() - start) / 1000;
    return [...memoryRows(hub), single('rate', 'calls/s', (AGENTS * CALLS) / seconds), await asked.slowest()];
  },
};

function memoryRows(hub: number): Row[] {
  if (!canReadMemory) return [];
  const { peak } = memoryOf(hub);
  return [
    single('hub RSS at its peak', 'MB', peak, {
      target: `≤ ${MAX_HUB_MB} MB`,
      isMet: ({ value }) => value <= MAX_HUB_MB,
    }),
  ];
}

/** Another client that keeps sending requests, to measure how long the hub does not answer. */
function askedMeanwhile(squad: GatewaySquad): { slowest(): Promise<Row> } {
  let isOver = false;
  let slowest = 0;
  const asking = (async () => {
    while (!isOver) {
      const start = performance.now();
      await askHub(squad, 'hub_status');
      slowest = Math.max(slowest, performance.now() - start);
      await new Promise(wake => setTimeout(wake, 20));
    }
  })();
  return {
    slowest: async () => {
      isOver = true;
      await asking;
      return single('hub status asked meanwhile: slowest', 'ms', slowest, {
        note: 'with a new connection each time, from the process that makes the load: the wait of both is in it',
      });
    },
  };
}
