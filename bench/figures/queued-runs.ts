import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { newRunId, newSquadId } from '../../src/schema/ids.ts';
import { openStore } from '../../src/store/open.ts';
import { BenchSquad } from '../bench-squad.ts';
import { makeFifo } from '../fifo.ts';
import { type Figure, paired, sampled, single } from '../figure.ts';
import { askHub, restartHub } from '../hub-line.ts';
import { interleave, type Samples, timed, until } from '../measure.ts';
import { canReadMemory, memoryOf } from '../process-memory.ts';

const QUEUED = 5_000;
const PAIRS = 10;
/** An empty home answers within 650 ms on an idle machine, so three times as long is 2 s. */
const MAX_RATIO = 3;
/** Long enough for the hub to finish work that it postpones until after its first answer. */
const WATCH_MS = 3_000;

/** How long a user waits for a hub that was killed with a long queue, and whether the hub answers promptly from then on. */
export const queuedRuns: Figure = {
  name: 'queued-runs',
  title: `Start of a hub killed with ${QUEUED.toLocaleString('en')} queued runs`,
  async measure() {
    await using full = new BenchSquad();
    await using empty = new BenchSquad();
    await fillQueue(full);
    await empty.hubPid();

    const slowest: Samples = [];
    const memory: Samples = [];
    let missing = 0;
    const answered = await interleave(
      async () => {
        const { answeredMs } = await restartHub(full);
        slowest.push(await slowestAnswer(full));
        const status = await askHub<{ pid: number; runsQueued: number }>(full, 'hub_status');
        missing = Math.max(missing, QUEUED - (status?.runsQueued ?? 0));
        if (status && canReadMemory) memory.push(memoryOf(status.pid).now);
        return answeredMs;
      },
      async () => (await restartHub(empty)).answeredMs,
      { pairs: PAIRS, warmUps: 1 },
    );
    return [
      paired('hub spawn to the first answer, against an empty home', 'ms', answered, {
        target: `≤ ${MAX_RATIO} × floor`,
        isMet: ({ ratio }) => ratio! <= MAX_RATIO,
      }),
      sampled(`slowest answer in the ${WATCH_MS / 1000} s after it`, 'ms', slowest),
      ...(memory.length > 0 ? [sampled('resident memory of the hub then', 'MB', memory)] : []),
      single('queued runs not queued again', 'runs', missing, {
        target: 'none',
        isMet: ({ value }) => value === 0,
      }),
    ];
  },
};

/**
 * One run that never ends occupies the only slot. The runs behind it are copies of a run that the hub itself queued.
 */
async function fillQueue(squad: BenchSquad): Promise<void> {
  const gate = join(squad.root, 'gate');
  makeFifo(gate);
  await squad.hubPid();
  await squad.squad('config', 'set', 'limits.concurrency', '1');
  const client = squad.client({ ...squad.agent([`read -r _ <${gate}`]).env, MCP_TOOL_TIMEOUT: '2' });
  await client.initialize();
  const members = Array.from({ length: 2 }, () => ({ roleId: 'coder', task: 'wait for the gate' }));
  await client.tool('start_squad_members', { members });
  await until('one run works and one waits', async () => {
    const status = await askHub<{ runsActive: number; runsQueued: number }>(squad, 'hub_status');
    return status?.runsActive === 1 && status.runsQueued === 1;
  });
  await client.close();
  await squad.stopHub();
  const store = await openStore({ database: join(squad.home, 'squad.db'), version: 'bench' });
  const model = (await store.liveRuns()).find(({ status }) => status === 'queued')!;
  const modelSquad = (await store.squad(model.squadId))!;
  for (let i = 1; i < QUEUED; i++) {
    const id = newRunId();
    const ofSquad = { ...modelSquad, id: newSquadId() };
    cpSync(join(squad.home, 'runs', model.id), join(squad.home, 'runs', id), { recursive: true });
    const run = { ...model, id, lineageId: id, squadId: ofSquad.id, createdAt: model.createdAt + i };
    const { roleId, engine } = run;
    void store.commit({
      squads: [ofSquad],
      runs: [run],
      events: [
        { at: run.createdAt, runId: id, squadId: ofSquad.id, body: { type: 'run.queued', roleId, engine } },
      ],
    });
  }
  await store.flush();
  await store.close();
  await squad.hubPid();
}

async function slowestAnswer(squad: BenchSquad): Promise<number> {
  const slowest: number[] = [];
  for (const end = performance.now() + WATCH_MS; performance.now() < end; )
    slowest.push(await timed(() => askHub(squad, 'hub_status')));
  return Math.max(...slowest);
}
