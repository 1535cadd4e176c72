import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { askHub } from './hub-line.ts';
import { timed } from './measure.ts';

/** Waiting time of a caller, and how long the hub's thread ran meanwhile, or was ready without a core. */
export interface Wait {
  ms: number;
  workedMs: number;
  starvedMs: number;
}

/** Thread that requests the hub's status repeatedly until it gets a message, and then returns each waiting time. */
const { hub, home, workspace, env } = workerData as {
  hub: number;
  home: string;
  workspace: string;
  env: Record<string, string>;
};
const squad = { home, workspace, env: () => env };
const PAUSE_MS = 2;

let isEnough = false;
parentPort!.on('message', () => {
  isEnough = true;
});
// The first connection is not measured, because it loads code.
await askHub(squad, 'hub_status');
parentPort!.postMessage('ready');
const waits: Wait[] = [];
while (!isEnough) {
  const before = threadTimes();
  const ms = await timed(() => askHub(squad, 'hub_status'));
  const after = threadTimes();
  waits.push({ ms, workedMs: after.worked - before.worked, starvedMs: after.starved - before.starved });
  await delay(PAUSE_MS);
}
parentPort!.postMessage(waits);

/** Times of the hub's main thread in milliseconds. Only Linux reports them. */
function threadTimes(): { worked: number; starved: number } {
  if (process.platform !== 'linux') return { worked: 0, starved: 0 };
  const [worked, starved] = readFileSync(`/proc/${hub}/task/${hub}/schedstat`, 'utf8').split(' ').map(Number);
  return { worked: worked! / 1e6, starved: starved! / 1e6 };
}
