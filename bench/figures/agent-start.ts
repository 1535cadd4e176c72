import { randomUUID } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { BenchSquad } from '../bench-squad.ts';
import { Fifo } from '../fifo.ts';
import { type Figure, paired, sampled, single } from '../figure.ts';
import type { McpClient } from '../mcp-client.ts';
import { interleave, type Pair, p99, repeat, timed } from '../measure.ts';
import { makeRepository } from '../sample-repository.ts';
import { clientForStarts, startMember, startPair, untilBegun } from '../start-pair.ts';

const MAX_TIMES_SPAWN = 2;
const MAX_P99_MS = 15;
const MAX_END_MS = 4;
const MAX_TIMES_PLAIN = 1.5;
const REPOSITORY_FILES = 10_000;
const REPOSITORY_PAIRS = 40;
const FILES = 100;

/** Time from the client's tools/call to the agent's first instruction, and from its last instruction to the reply. */
export const agentStart: Figure = {
  name: 'agent-start',
  title: "From tools/call to the agent's first instruction, and from its last to the reply",
  async measure() {
    await using squad = new BenchSquad();
    const fifo = new Fifo(join(squad.root, 'started'));
    const { script, env } = squad.agent([`echo >${fifo.path}`]);
    // Runs in the folder itself, because work trees have their own figure.
    const { start, end } = await startPair(squad, {
      ...{ fifo, env, command: ['/bin/sh', script], isolation: 'none' },
    });
    const made = await repeat(FILES, () => timed(async () => makeFile(squad.root)));
    const inRepository = await repositoryPair(squad, fifo, env);
    fifo.close();
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
      paired(
        `in a git repository of ${REPOSITORY_FILES} files, against the same without git`,
        'ms',
        inRepository,
        {
          target: `≤ ${MAX_TIMES_PLAIN} ×`,
          isMet: ({ ratio }) => ratio! <= MAX_TIMES_PLAIN,
        },
      ),
      sampled('for comparison: one new file in that place', 'ms', made, {
        note: 'a file system that has just removed thousands is slow at it',
      }),
    ];
  },
};

/** Compares the same agent in a repository and in a folder without one, on the same hub. */
async function repositoryPair(squad: BenchSquad, fifo: Fifo, env: Record<string, string>): Promise<Pair> {
  const repository = join(squad.root, 'repository');
  makeRepository(repository, REPOSITORY_FILES);
  const there = await clientForStarts(squad, env, '--workspace', repository);
  const plain = await clientForStarts(squad, env);
  const startIn = (client: McpClient) => untilBegun(fifo, () => startMember(client, 'none'));
  const pair = await interleave(
    () => startIn(there),
    () => startIn(plain),
    { pairs: REPOSITORY_PAIRS, warmUps: 5 },
  );
  await there.close();
  await plain.close();
  return pair;
}

function makeFile(folder: string): void {
  closeSync(openSync(join(folder, randomUUID()), 'wx'));
}
