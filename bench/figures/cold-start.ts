import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { BenchSquad } from '../bench-squad.ts';
import { type Figure, paired, sampled } from '../figure.ts';
import { McpClient } from '../mcp-client.ts';
import { interleave, repeat, timed } from '../measure.ts';

const MAX_OVER_FLOOR_MS = 15;
const MAX_TIMES_NODE = 5;
const MAX_COLD_P95_MS = 800;
const FIRST_STARTS = 10;

/** Time from the start of `squad mcp` to its answer to `initialize`. A client has no tools before that. */
export const coldStart: Figure = {
  name: 'cold-start',
  title: 'Cold start of squad mcp, to the initialize reply',
  async measure() {
    await using squad = new BenchSquad();
    const surroundings = { cwd: squad.workspace, env: squad.env() };
    const floorServer = join(import.meta.dirname, '..', 'floor-server.cjs');

    await squad.hubPid();
    const warm = await interleave(
      () => toInitialize(squad.client()),
      () => toInitialize(new McpClient(process.execPath, [floorServer], surroundings)),
    );

    const bareNode = () =>
      timed(() => once(spawn(process.execPath, ['-e', '0'], { ...surroundings, stdio: 'ignore' }), 'exit'));
    const cold = await interleave(async () => {
      await squad.stopHub();
      return toInitialize(squad.client());
    }, bareNode);
    const first = await repeat(FIRST_STARTS, async () => {
      await squad.stopHub();
      squad.freshHome();
      return toInitialize(squad.client());
    });

    return [
      paired('hub warm, against a server without SDK', 'ms', warm, {
        target: `≤ floor + ${MAX_OVER_FLOOR_MS} ms`,
        isMet: ({ over }) => over! <= MAX_OVER_FLOOR_MS,
      }),
      paired('hub cold, against node -e 0', 'ms', cold, {
        target: `≤ ${MAX_TIMES_NODE} ×, p95 < ${MAX_COLD_P95_MS} ms`,
        isMet: ({ ratio, p95 }) => ratio! <= MAX_TIMES_NODE && p95! < MAX_COLD_P95_MS,
        note: 'the home has been used before: its database is there, and compiled code is kept in it',
      }),
      sampled('hub cold, very first start', 'ms', first, {
        note: 'a home that is not there yet: nothing compiled is kept, and the database is made',
      }),
    ];
  },
};

async function toInitialize(client: McpClient): Promise<number> {
  const took = await client.initialize();
  await client.close();
  return took;
}
