import { randomUUID } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { BenchSquad } from '../bench-squad.ts';
import { Fifo } from '../fifo.ts';
import { type Figure, paired, sampled } from '../figure.ts';
import { repeat, timed } from '../measure.ts';
import { startPair } from '../start-pair.ts';

const MAX_OVER_SPAWN_MS = 8;
const FILES = 100;

/** From the client's tools/call to the first thing the agent does, and the same for the program started by hand. */
export const agentStart: Figure = {
  name: 'agent-start',
  title: "From tools/call to the agent's first instruction",
  async measure() {
    await using squad = new BenchSquad();
    const fifo = new Fifo(join(squad.root, 'started'));
    const { script, env } = squad.agent([`echo >${fifo.path}`]);
    const pair = await startPair(squad, { fifo, env, command: ['/bin/sh', script] });
    const made = await repeat(FILES, () => timed(async () => makeFile(squad.root)));
    return [
      paired('one agent, against child_process.spawn', 'ms', pair, {
        target: `≤ floor + ${MAX_OVER_SPAWN_MS} ms`,
        isMet: ({ over }) => over! <= MAX_OVER_SPAWN_MS,
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
