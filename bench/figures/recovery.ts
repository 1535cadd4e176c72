import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { openStore } from '../../src/store/open.ts';
import { BenchSquad } from '../bench-squad.ts';
import { Fifo, makeFifo } from '../fifo.ts';
import { type Figure, paired, sampled, single } from '../figure.ts';
import { askHub, restartHub } from '../hub-line.ts';
import { interleave, type Samples, until } from '../measure.ts';
import { finishedRun } from '../sample-runs.ts';

const FINISHED = 10_000;
const LIVE = 50;

/** Measures how long a user waits after the hub was killed with a long history and many running agents. */
export const recovery: Figure = {
  name: 'recovery',
  title: `Start of a hub killed with ${FINISHED.toLocaleString('en')} finished and ${LIVE} live runs`,
  async measure() {
    await using full = new BenchSquad();
    await using empty = new BenchSquad();
    await fill(full);
    const fifo = new Fifo(join(full.root, 'started'));
    await startAgents(full, fifo);
    fifo.close();
    await empty.hubPid();

    const recovered: Samples = [];
    const watched = new Set<number>();
    const answered = await interleave(
      async () => {
        const { answeredMs, startedAt } = await restartHub(full);
        const event = await lastRecovery(full, startedAt);
        recovered.push(event.at - startedAt);
        watched.add(event.watched);
        return answeredMs;
      },
      async () => (await restartHub(empty)).answeredMs,
    );
    const status = await askHub<{ runsActive: number }>(full, 'hub_status');
    const missing = LIVE - Math.min(status?.runsActive ?? 0, ...watched);
    return [
      paired('hub spawn to the first answer, against an empty home', 'ms', answered),
      sampled('hub spawn to hub.recovered', 'ms', recovered),
      single('live runs not watched again', 'runs', missing, {
        target: 'none',
        isMet: ({ value }) => value === 0,
      }),
    ];
  },
};

async function fill(squad: BenchSquad): Promise<void> {
  await squad.hubPid();
  await squad.stopHub();
  const store = await openStore({ database: join(squad.home, 'squad.db'), version: 'bench' });
  for (let i = 0; i < FINISHED; i += 500) {
    const changes = Array.from({ length: 500 }, () => finishedRun(squad.workspace)).flat();
    await Promise.all(changes.map(change => store.commit(change)));
  }
  await store.close();
}

async function startAgents(squad: BenchSquad, fifo: Fifo): Promise<void> {
  const gate = join(squad.root, 'gate');
  makeFifo(gate);
  const { env } = squad.agent([`echo >${fifo.path}`, `read -r _ <${gate}`]);
  await squad.hubPid();
  for (const limit of ['limits.concurrency', 'limits.spawns_per_minute'])
    await squad.squad('config', 'set', limit, String(LIVE));
  // With this timeout the call returns as soon as all agents have started.
  const client = squad.client({ ...env, MCP_TOOL_TIMEOUT: '2' });
  await client.initialize();
  const members = Array.from({ length: LIVE }, () => ({ roleId: 'coder', task: 'wait for the gate' }));
  await client.tool('start_squad_members', { members });
  await fifo.take(LIVE);
  await until('the hub knows of all', async () => {
    const status = await askHub<{ runsActive: number }>(squad, 'hub_status');
    return status?.runsActive === LIVE;
  });
  await client.close();
}

function lastRecovery(squad: BenchSquad, after: number): Promise<{ at: number; watched: number }> {
  const find = `select at, data from events where type = 'hub.recovered' and at >= ? order by seq desc limit 1`;
  return until('the recovery is recorded', () => {
    const handle = new BetterSqlite3(join(squad.home, 'squad.db'), { readonly: true });
    try {
      const row = handle.prepare<[number], { at: number; data: string }>(find).get(after);
      return row && { at: row.at, watched: JSON.parse(row.data).watched as number };
    } finally {
      handle.close();
    }
  });
}
