import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { BenchSquad } from './bench-squad.ts';
import type { Fifo } from './fifo.ts';
import { interleave, type Pair } from './measure.ts';

const PAIRS = 60;

export interface StartedBy {
  /** Says on the fifo that it has begun. */
  fifo: Fifo;
  /** Environment that makes every role run this program. */
  env: Record<string, string>;
  /** Command that starts the same program without Squad. */
  command: [string, ...string[]];
}

/** From the client's tools/call to the first thing the program does, and the same for the program started by hand. */
export async function startPair(squad: BenchSquad, { fifo, env, command }: StartedBy): Promise<Pair> {
  await squad.hubPid();
  await squad.squad('config', 'set', 'limits.spawns_per_minute', '10000');
  const client = squad.client(env);
  await client.initialize();
  const started = async (begin: () => Promise<unknown>): Promise<number> => {
    const start = performance.now();
    const [at] = await Promise.all([fifo.take(), begin()]);
    return at - start;
  };
  const [program, ...args] = command;
  const pair = await interleave(
    () =>
      started(() => client.tool('start_squad_members', { members: [{ roleId: 'coder', task: 'begin' }] })),
    () =>
      started(() =>
        once(spawn(program, args, { cwd: squad.workspace, env: squad.env(env), stdio: 'ignore' }), 'exit'),
      ),
    { pairs: PAIRS, warmUps: 5 },
  );
  await client.close();
  fifo.close();
  return pair;
}
