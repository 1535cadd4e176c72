import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { BenchSquad } from './bench-squad.ts';
import type { Fifo } from './fifo.ts';
import type { McpClient } from './mcp-client.ts';
import { interleave, type Pair, type Samples } from './measure.ts';

const PAIRS = 100;
const WARM_UPS = 10;

export interface StartedBy {
  /** The program writes to this pipe when it has started. */
  fifo: Fifo;
  /** Environment that makes every role run this program. */
  env: Record<string, string>;
  /** Command that starts the same program without Squad. */
  command: [string, ...string[]];
  isolation?: 'none';
}

export interface StartAndEnd {
  /** Time from the client's tools/call to the program's first action, and the same for the program started directly. */
  start: Pair;
  /**
   * Time from the line on the fifo, the last action of a short program, to the reply. For a direct start, to the exit.
   */
  end: Pair;
}

export async function startPair(
  squad: BenchSquad,
  { fifo, env, command, isolation }: StartedBy,
): Promise<StartAndEnd> {
  const client = await clientForStarts(squad, env);
  const end: Pair = { ours: [], floor: [] };
  const [program, ...args] = command;
  const start = await interleave(
    () => untilBegun(fifo, () => startMember(client, isolation), end.ours),
    () =>
      untilBegun(
        fifo,
        () =>
          once(spawn(program, args, { cwd: squad.workspace, env: squad.env(env), stdio: 'ignore' }), 'exit'),
        end.floor,
      ),
    { pairs: PAIRS, warmUps: WARM_UPS },
  );
  await client.close();
  return { start, end: { ours: end.ours.slice(WARM_UPS), floor: end.floor.slice(WARM_UPS) } };
}

/** Client without a limit of starts per minute. */
export async function clientForStarts(
  squad: BenchSquad,
  env: Record<string, string>,
  ...args: string[]
): Promise<McpClient> {
  await squad.hubPid();
  await squad.squad('config', 'set', 'limits.spawns_per_minute', '10000');
  const client = squad.client(env, ...args);
  await client.initialize();
  return client;
}

export const startMember = (client: McpClient, isolation?: 'none'): Promise<unknown> =>
  client.tool('start_squad_members', { members: [{ roleId: 'coder', task: 'begin', isolation }] });

/**
 * Milliseconds from `begin` to the line on the fifo. The time from that line to the end of `begin` is added to `ends`.
 */
export async function untilBegun(
  fifo: Fifo,
  begin: () => Promise<unknown>,
  ends: Samples = [],
): Promise<number> {
  const start = performance.now();
  const over = begin().then(() => performance.now());
  const at = await fifo.take();
  ends.push((await over) - at);
  return at - start;
}
