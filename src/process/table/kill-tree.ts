import { setTimeout as delay } from 'node:timers/promises';
import type { TurnTree } from '../turns/turn-tree.ts';
import type { ProcessInfo } from './process-info.ts';
import type { ProcessTable } from './process-table.ts';

/** A process, as it is reported. Structurally the schema's `Leftover`. */
export interface Leftover {
  pid: number;
  command: string;
}

const COMMAND_LENGTH = 200;
const FIRST_POLL_MS = 5;
const LAST_POLL_MS = 100;
/** How long helpers of an ended agent may need to end by themselves. */
const SETTLE_MS = 50;
/** Time that the wrapper may need to write its record once its agent is dead. */
const RECORD_MS = 2000;
/** A process that outlives KILL this long cannot be ended by us: stuck in the kernel, or another user's. */
const GIVE_UP_MS = 10_000;

/**
 * Ends a whole turn: TERM to all, time to comply, KILL. `killAt`, by `performance.now()`, is asked again and again, so that
 * it can be moved nearer. Returns what could not be ended, normally nothing.
 */
export async function killTree(
  table: ProcessTable,
  tree: TurnTree,
  killAt: () => number,
  giveUpMs = GIVE_UP_MS,
): Promise<Leftover[]> {
  const { wrapper, others } = await tree.members();
  if (killAt() > performance.now()) {
    const sandbox = others.find(each => each.ppid === wrapper?.pid && agentIn(each, others));
    // To the group at once, so that nothing can fork away in between; then to those outside it.
    if (wrapper && !sandbox) kill(-wrapper.pid, 'SIGTERM');
    // The first process of a sandbox would end at once, and the kernel kills everything inside with it: no grace for the agent.
    for (const each of others)
      if (each !== sandbox && (sandbox || each.pgid !== wrapper?.pid)) signal(table, each, 'SIGTERM');
    if (await isEmptyBefore(tree, killAt)) return [];
  }
  return describe(table, await killAll(table, tree, giveUpMs));
}

export interface Swept {
  /** Processes that the turn left behind and that were ended. */
  ended: Leftover[];
  /** Processes that could not be ended, normally none. */
  survivors: Leftover[];
}

/** After an end by itself: ends what is left and says what it was. */
export async function sweep(
  table: ProcessTable,
  tree: TurnTree,
  graceMs: number,
  giveUpMs = GIVE_UP_MS,
): Promise<Swept> {
  const settledAt = performance.now() + SETTLE_MS;
  if (await isEmptyBefore(tree, () => settledAt)) return { ended: [], survivors: [] };
  const leftovers = await describe(table, (await tree.members()).others);
  const killAt = performance.now() + graceMs;
  const survivors = await killTree(table, tree, () => killAt, giveUpMs);
  const alive = new Set(survivors.map(({ pid }) => pid));
  return { ended: leftovers.filter(({ pid }) => !alive.has(pid)), survivors };
}

/**
 * The agent, if this process is the first one of its sandbox: below it is bubblewrap once more, as the sandbox's own init, and
 * below that the agent, before everything that was orphaned inside.
 */
export function agentIn(outer: ProcessInfo, others: readonly ProcessInfo[]): ProcessInfo | null {
  const isBubblewrap = ({ name }: ProcessInfo) => name === 'bwrap';
  const init = isBubblewrap(outer) && others.find(each => each.ppid === outer.pid && isBubblewrap(each));
  if (!init) return null;
  const inside = others.filter(each => each.ppid === init.pid);
  return inside.sort((a, b) => Number(a.startTime) - Number(b.startTime) || a.pid - b.pid)[0] ?? null;
}

/** Returns what is still there when nothing helps. */
async function killAll(table: ProcessTable, tree: TurnTree, giveUpMs: number): Promise<ProcessInfo[]> {
  const giveUpAt = performance.now() + giveUpMs;
  for (let round = 0; ; round++) {
    const { wrapper, others } = await tree.members();
    if ((!wrapper && others.length === 0) || performance.now() > giveUpAt) return others;
    for (const each of others) signal(table, each, 'SIGKILL');
    // The wrapper is spared at first: it ends by itself and leaves a record. Its last helper must not be hit either, hence the wait.
    if (wrapper && (round > 1 || (round > 0 && others.length === 0))) signal(table, wrapper, 'SIGKILL');
    if (wrapper) await waitForEnd(table, wrapper, RECORD_MS);
    else await delay(Math.min(FIRST_POLL_MS * (round + 1), LAST_POLL_MS));
  }
}

async function isEmptyBefore(tree: TurnTree, deadline: () => number): Promise<boolean> {
  for (let pause = FIRST_POLL_MS; ; pause = Math.min(pause * 1.5, LAST_POLL_MS)) {
    const { wrapper, others } = await tree.members();
    if (!wrapper && others.length === 0) return true;
    const left = deadline() - performance.now();
    if (left <= 0) return false;
    await delay(Math.min(pause, left));
  }
}

async function waitForEnd(table: ProcessTable, process: ProcessInfo, limitMs: number): Promise<void> {
  const until = performance.now() + limitMs;
  for (let pause = FIRST_POLL_MS; table.alive(process) && performance.now() < until; pause *= 1.5)
    await delay(Math.min(pause, LAST_POLL_MS));
}

function signal(table: ProcessTable, target: ProcessInfo, name: 'SIGTERM' | 'SIGKILL'): void {
  if (table.alive(target)) kill(target.pid, name);
}

function kill(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone meanwhile, or not ours to end: the next look at the table tells which.
  }
}

const describe = (table: ProcessTable, processes: ProcessInfo[]): Promise<Leftover[]> =>
  Promise.all(
    processes.map(async each => ({
      pid: each.pid,
      command: (await table.command(each)).slice(0, COMMAND_LENGTH),
    })),
  );
