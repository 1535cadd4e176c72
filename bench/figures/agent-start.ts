import { randomUUID } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { BenchSquad } from '../bench-squad.ts';
import { Fifo } from '../fifo.ts';
import { type Figure, paired, sampled, single } from '../figure.ts';
import { median, p99, repeat, timed } from '../measure.ts';
import { makeRepository } from '../sample-repository.ts';
import { type StartAndEnd, startPair } from '../start-pair.ts';

const MAX_TIMES_SPAWN = 2;
const MAX_P99_MS = 15;
const MAX_END_MS = 4;
const MAX_TIMES_PLAIN = 1.5;
const REPOSITORY_FILES = 10_000;
const FILES = 100;

/** From the client's tools/call to the agent's first instruction, and from its last one to the reply. */
export const agentStart: Figure = {
  name: 'agent-start',
  title: "From tools/call to the agent's first instruction, and from its last to the reply",
  async measure() {
    await using squad = new BenchSquad();
    const { start, end } = await measureIn(squad);
    const made = await repeat(FILES, () => timed(async () => makeFile(squad.root)));
    await using other = new BenchSquad();
    makeRepository(other.workspace, REPOSITORY_FILES);
    const { start: inRepository } = await measureIn(other);
    const times = median(inRepository.ours) / median(start.ours);
    return [
      paired('one agent, against child_process.spawn', 'ms', start, {
        target: `≤ ${MAX_TIMES_SPAWN} ×`,
        isMet: ({ ratio }) => ratio! <= MAX_TIMES_SPAWN,
        note: 'by way of squad mcp and the hub, with everything on disk that a crash must not lose',
      }),
      single('one agent, p99', 'ms', p99(start.ours), {
        target: `≤ ${MAX_P99_MS} ms`,
        isMet: ({ value }) => value <= MAX_P99_MS,
      }),
      paired('its end to the reply, against the exit of a child', 'ms', end, {
        target: `≤ ${MAX_END_MS} ms`,
        isMet: ({ value }) => value <= MAX_END_MS,
      }),
      single(`in a git repository of ${REPOSITORY_FILES} files, times the same without git`, '×', times, {
        target: `≤ ${MAX_TIMES_PLAIN}`,
        isMet: ({ value }) => value <= MAX_TIMES_PLAIN,
        note: `${median(inRepository.ours).toFixed(1)} ms`,
      }),
      sampled('for comparison: one new file in that place', 'ms', made, {
        note: 'Squad makes seven before the agent begins; a file system that has just removed thousands is slow at it',
      }),
    ];
  },
};

function measureIn(squad: BenchSquad): Promise<StartAndEnd> {
  const fifo = new Fifo(join(squad.root, 'started'));
  const { script, env } = squad.agent([`echo >${fifo.path}`]);
  // In the folder itself: a work tree is measured by its own figure.
  return startPair(squad, { fifo, env, command: ['/bin/sh', script], isolation: 'none' });
}

function makeFile(folder: string): void {
  closeSync(openSync(join(folder, randomUUID()), 'wx'));
}
