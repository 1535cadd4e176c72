/** `node carry-out-and-die.ts PLACE STEP`: plans, carries out, and is killed at that step as a hub would be. */
import { openStore } from '../../src/store/open.ts';
import { databaseOf, integratorOn, PLAIN_REQUEST } from './integrate-fixture.ts';

const [place = '', step] = process.argv.slice(2);
const repo = JSON.parse(place);
const store = await openStore({ database: databaseOf(repo), version: '0.0.0' });
const integrator = integratorOn(
  { store, repo },
  {
    live: () => [],
    checkpoint: name => {
      if (name === step) process.kill(process.pid, 'SIGKILL');
    },
  },
);
const runs = await store.runs({ limit: 100 });
const request = { ...PLAIN_REQUEST, runs };
const { planId } = await integrator.plan(request);
await integrator.carryOut(planId ?? '', { remove: false });
