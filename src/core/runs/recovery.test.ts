import { expect, test } from 'vitest';
import { HubSettings } from '../../schema/config.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import { openForTest } from '../../store/fixtures/open-for-test.ts';
import { aRun, aSquad } from '../../store/fixtures/sample-rows.ts';
import { tempDatabase } from '../../store/fixtures/temp-database.ts';
import { type RecoveryPorts, recover } from './recovery.ts';
import type { Runner } from './runner.ts';

const MANY = 300;

/** A port of which only these methods may be used. Every use is counted. */
function only<T extends object>(methods: Partial<T>): { port: T; uses: () => number } {
  let uses = 0;
  const port = new Proxy(methods as T, {
    get(target, name) {
      const method = Reflect.get(target, name);
      if (typeof method !== 'function') throw new Error(`${String(name)} was used`);
      uses++;
      return method.bind(target);
    },
  });
  return { port, uses: () => uses };
}

function runnerThatTakes(requeued: RunId[], ended: string[]): Runner {
  const runner: Partial<Runner> = {
    requeue: ({ id }: Run) => void requeued.push(id),
    recall: () => {},
    wakeAll: () => {},
    endStopped: async ({ id }, reason) => void ended.push(`${id} ${reason}`),
    lose: async ({ id }, { message }) => void ended.push(`${id} ${message}`),
  };
  return runner as Runner;
}

async function queuedRuns() {
  const store = await openForTest(await tempDatabase());
  const squad = aSquad();
  const runs = Array.from({ length: MANY }, (_, position) => aRun(squad, { status: 'queued', position }));
  await store.commit({ squads: [squad], runs, events: [] });
  return { store, squad, ids: runs.map(({ id }) => id) };
}

const settings = () => HubSettings.parse({});
const clock = { now: () => Date.now(), monotonic: () => performance.now() };

test('queued runs that never began are queued in their order, with no file read and no question for each', {
  tags: ['D10'],
}, async () => {
  const { store, ids } = await queuedRuns();
  const counted = only<RecoveryPorts['store']>(store);
  const requeued: RunId[] = [];
  const ports: RecoveryPorts = {
    ...{ clock, settings, store: counted.port },
    files: only<RecoveryPorts['files']>({}).port,
    engines: only<RecoveryPorts['engines']>({}).port,
    executor: only<RecoveryPorts['executor']>({ hasBegun: async () => false }).port,
  };
  const counts = await recover(runnerThatTakes(requeued, []), ports);
  expect(counts).toEqual({ watched: 0, ended: 0, requeued: MANY, lost: 0 });
  expect(requeued).toEqual(ids);
  expect(counted.uses()).toBeLessThan(10);
});

test('a queued run that was asked to stop, and one that cannot be inspected, end; the others are queued', async () => {
  const { store, squad, ids } = await queuedRuns();
  const [asked, broken, ...others] = ids as [RunId, RunId, ...RunId[]];
  await store.commit({
    events: [{ at: 1, runId: asked, squadId: squad.id, body: { type: 'run.stopping', reason: 'cancel' } }],
  });
  const requeued: RunId[] = [];
  const ended: string[] = [];
  const texts: Record<string, string> = {
    'prompt.md': 'Do it',
    'plan.json': '{"engine":{"kind":"scripted"},"request":{}}',
  };
  const ports: RecoveryPorts = {
    ...{ clock, settings, store },
    files: only<RecoveryPorts['files']>({ read: async (_, name) => texts[name] ?? null }).port,
    engines: only<RecoveryPorts['engines']>({ create: () => ({}) as never }).port,
    executor: only<RecoveryPorts['executor']>({
      hasBegun: async ({ runId }) => {
        if (runId === broken) throw new Error('EIO');
        return false;
      },
      find: async () => ({ state: 'never_started' }),
    }).port,
  };
  const counts = await recover(runnerThatTakes(requeued, ended), ports);
  expect(counts).toEqual({ watched: 0, ended: 1, requeued: MANY - 2, lost: 1 });
  expect(requeued).toEqual(others);
  expect(ended).toHaveLength(2);
  expect(ended).toContain(`${asked} cancel`);
  expect(ended).toContainEqual(expect.stringMatching(`^${broken} .*EIO`));
});
