import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { BenchSquad } from '../bench-squad.ts';
import { Fifo } from '../fifo.ts';
import { type Figure, paired, sampled } from '../figure.ts';
import { interleave, repeat, timed } from '../measure.ts';

const MOST_OVER_SPAWN_MS = 8;
const PAIRS = 60;
const FILES = 100;

/** From the client's tools/call to the first thing the agent does, and the same for the program started by hand. */
export const agentStart: Figure = {
  name: 'agent-start',
  title: "From tools/call to the agent's first instruction",
  async measure() {
    await using squad = new BenchSquad();
    const fifo = new Fifo(join(squad.root, 'started'));
    const { script, env } = squad.agent([`echo >${fifo.path}`]);
    await squad.hubPid();
    await squad.squad('config', 'set', 'limits.spawns_per_minute', '10000');
    const client = squad.client(env);
    await client.initialize();

    const pair = await interleave(
      async () => {
        const start = performance.now();
        const call = client.tool('start_squad_members', { members: [{ roleId: 'coder', task: 'begin' }] });
        const [started] = await Promise.all([fifo.take(), call]);
        return started - start;
      },
      async () => {
        const start = performance.now();
        const child = spawn('/bin/sh', [script], {
          cwd: squad.workspace,
          env: squad.env(env),
          stdio: 'ignore',
        });
        const gone = once(child, 'exit');
        const [started] = await Promise.all([fifo.take(), gone]);
        return started - start;
      },
      { pairs: PAIRS, warmUps: 5 },
    );
    await client.close();
    fifo.close();
    const made = await repeat(FILES, () => timed(async () => makeFile(squad.root)));
    return [
      paired('one agent, against child_process.spawn', 'ms', pair, {
        target: `≤ floor + ${MOST_OVER_SPAWN_MS} ms`,
        isMet: ({ over }) => over! <= MOST_OVER_SPAWN_MS,
        note: 'by way of squad mcp and the hub, with everything on disk that a crash must not lose',
      }),
      sampled('for comparison: one new file in that place', 'ms', made, {
        note: 'Squad makes eight before the agent begins; a file system that has just removed thousands is slow at it',
      }),
    ];
  },
};

function makeFile(folder: string): void {
  closeSync(openSync(join(folder, randomUUID()), 'wx'));
}
