import { setTimeout as delay } from 'node:timers/promises';
import type { Members, TurnTree } from '../turns/turn-tree.ts';
import type { ProcessInfo } from './process-info.ts';
import type { ProcessTable } from './process-table.ts';

/** A process in a report. Same shape as the schema's type `Leftover`. */
export interface Leftover {
  pid: number;
  command: string;
}

const COMMAND_LENGTH = 200;
const FIRST_POLL_MS = 5;
const LAST_POLL_MS = 100;
/** Time that helper processes of an ended agent get to end by themselves. */
const SETTLE_MS = 50;
/** Time that the wrapper gets to write its exit record once its agent is dead. */
const RECORD_MS = 2000;
/**
 * Time after which a process that survives KILL counts as impossible to end: it is stuck in the kernel, or belongs to
 * another user.
 */
const GIVE_UP_MS = 10_000;

/**
 * Ends a whole turn: TERM to all processes, a grace time, then KILL. `killAt` (by `performance.now()`) is called
 * repeatedly, so that callers can shorten the grace time. Returns processes that could not be ended, normally none.
 */
export async function killTree(
  table: ProcessTable,
  tree: TurnTree,
  killAt: () => number,
  giveUpMs = GIVE_UP_MS,
): Promise<Leftover[]> {
  const { wrapper, others } = await membersOnceSetUp(tree, killAt);
  if (killAt() > performance.now()) {
    const sandbox = others.find(each => each.ppid === wrapper?.pid && agentIn(each, others));
    // TERM goes to the whole group at once, so that no process can fork away in between, and then to processes
    // outside the group.
    if (wrapper && !sandbox) kill(-wrapper.pid, 'SIGTERM');
    // The first process of a sandbox gets no TERM: it would exit at once, and the kernel would kill everything inside
    // without a grace time.
    for (const each of others)
      if (each !== sandbox && (sandbox || each.pgid !== wrapper?.pid)) signal(table, each, 'SIGTERM');
    if (await isEmptyBefore(tree, killAt)) return [];
  }
  return describe(table, await killAll(table, tree, giveUpMs));
}

/**
 * Members of the tree, once bubblewrap has set up the agent's sandbox. A TERM during the set-up would end only
 * bubblewrap, and the agent would run after the recorded end.
 */
async function membersOnceSetUp(tree: TurnTree, killAt: () => number): Promise<Members> {
  for (let pause = FIRST_POLL_MS; ; pause = Math.min(pause * 1.5, LAST_POLL_MS)) {
    const members = await tree.members();
    const left = killAt() - performance.now();
    if (left <= 0 || !isSettingUp(members)) return members;
    await delay(Math.min(pause, left));
  }
}

/** Until the agent is there, the first process of a sandbox has no child, or only the later init without a child. */
function isSettingUp({ wrapper, others }: Members): boolean {
  const childrenOf = (parent: number) => others.filter(({ ppid }) => ppid === parent);
  const outer = wrapper && childrenOf(wrapper.pid).find(isBubblewrap);
  return (
    !!outer && childrenOf(outer.pid).every(child => isBubblewrap(child) && childrenOf(child.pid).length === 0)
  );
}

const isBubblewrap = ({ name }: ProcessInfo): boolean => name === 'bwrap';

export interface Swept {
  /** Processes that the turn left behind and that Squad ended. */
  ended: Leftover[];
  /** Processes that could not be ended, normally none. */
  survivors: Leftover[];
}

/** Called when a turn has ended by itself. Ends the processes that the turn left behind, and returns them. */
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
 * Finds the agent if `outer` is the first process of its sandbox. Below `outer` is a second bubblewrap process, the
 * init of the sandbox, and the agent is the first child of that init.
 */
export function agentIn(outer: ProcessInfo, others: readonly ProcessInfo[]): ProcessInfo | null {
  const init = isBubblewrap(outer) && others.find(each => each.ppid === outer.pid && isBubblewrap(each));
  if (!init) return null;
  const inside = others.filter(each => each.ppid === init.pid);
  return inside.sort((a, b) => Number(a.startTime) - Number(b.startTime) || a.pid - b.pid)[0] ?? null;
}

/** Returns the processes that survive KILL. */
async function killAll(table: ProcessTable, tree: TurnTree, giveUpMs: number): Promise<ProcessInfo[]> {
  const giveUpAt = performance.now() + giveUpMs;
  for (let round = 0; ; round++) {
    const { wrapper, others } = await tree.members();
    // On a busy machine the time may be over before each process has had its signal.
    if ((!wrapper && others.length === 0) || (round > 3 && performance.now() > giveUpAt)) return others;
    for (const each of others) signal(table, each, 'SIGKILL');
    // The wrapper is spared at first, because it ends by itself and leaves an exit record. Its last helper process
    // must not be killed either, hence the wait.
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

export function signal(table: ProcessTable, target: ProcessInfo, name: 'SIGTERM' | 'SIGKILL'): void {
  if (table.alive(target)) kill(target.pid, name);
}

function kill(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has ended, or belongs to another user. The next snapshot shows which.
  }
}

const describe = (table: ProcessTable, processes: ProcessInfo[]): Promise<Leftover[]> =>
  Promise.all(
    processes.map(async each => ({
      pid: each.pid,
      command: (await table.command(each)).slice(0, COMMAND_LENGTH),
    })),
  );
