import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { askHub } from './hub-line.ts';
import { type Samples, timed } from './measure.ts';

/** A thread that asks the hub for its status again and again until it hears that it is enough. Answers how long it waited each time. */
const { home, workspace, env } = workerData as {
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
// The first connection loads code.
await askHub(squad, 'hub_status');
parentPort!.postMessage('ready');
const waits: Samples = [];
while (!isEnough) {
  waits.push(await timed(() => askHub(squad, 'hub_status')));
  await delay(PAUSE_MS);
}
parentPort!.postMessage(waits);
