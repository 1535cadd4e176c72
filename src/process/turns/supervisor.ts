import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createTicker } from '../../base/clock.ts';
import type { TurnSandbox } from '../sandbox/sandbox-arguments.ts';
import { createSandboxes, FIRST_FD, type Sandboxes, type SandboxProblem } from '../sandbox/sandboxes.ts';
import type { ProcessInfo } from '../table/process-info.ts';
import { createProcessTable, type ProcessTable } from '../table/process-table.ts';
import { endWithoutRecord, finishTurn, type LiveTurn, type TurnEnd, watchTurn } from './live-turn.ts';
import { spawnWrapper, type TurnStart } from './spawn-wrapper.ts';
import {
  hasExitRecord,
  readExitRecord,
  readWrapperPid,
  type TurnKey,
  takenAt,
  turnFolder,
  useHubLease,
} from './turn-record.ts';
import { NOT_RUN } from './wrapper.ts';

/** Same shape as the core's type `FoundTurn`. */
type FoundTurn =
  | { state: 'live'; turn: LiveTurn; startedAt: number }
  | { state: 'ended'; end: TurnEnd; startedAt: number }
  | { state: 'never_started' }
  | { state: 'gone'; end: TurnEnd; startedAt: number };

interface TurnOptions {
  keepLeftovers: boolean;
}

/** Runs turns as processes of this machine. Same shape as the core's type `Executor`. */
export interface Supervisor {
  start(turn: TurnStart, options: TurnOptions): Promise<LiveTurn>;
  hasBegun(turn: TurnKey): Promise<boolean>;
  find(turn: TurnKey, options: TurnOptions): Promise<FoundTurn>;
  sandboxProblem(network: TurnSandbox['network']): Promise<SandboxProblem | null>;
  confined(turn: Omit<TurnStart, 'hardLimitMs'> & { sandbox: TurnSandbox }): Promise<TurnStart['command']>;
}

export interface SupervisorOptions {
  runsDir: string;
  table?: ProcessTable;
  /** Without this option the supervisor cannot limit the network. */
  sandboxes?: Sandboxes;
  /** True if turns end with the lease of the hub, unless it is renewed. */
  isLeased?: boolean;
  /** Called for errors that must not stop a turn. */
  onError?(message: string): void;
}

const WATCH_MS = 100;
/**
 * Time for a new wrapper to write its pid, or for a wrapper with an exit record to end. Both normally take
 * milliseconds.
 */
const WRAPPER_TIMEOUT_MS = 2000;
const POLL_MS = 10;

export function createSupervisor(given: SupervisorOptions): Supervisor {
  const { runsDir, table = createProcessTable(), onError = () => {} } = given;
  const { sandboxes = createSandboxes({ path: process.env.PATH ?? '', rooms: null }) } = given;
  const everyTick = createTicker(WATCH_MS);

  async function start(turn: TurnStart, options: TurnOptions): Promise<LiveTurn> {
    const folder = turnFolder(runsDir, turn);
    if (given.isLeased) useHubLease(folder);
    const child = await spawnWrapper(turn, folder, confined => sandboxes.confine(confined, folder, 'turn'));
    const exit = new Promise<number | null>(resolve => child.once('exit', resolve));
    const wrapperEnd = Promise.withResolvers<number | null>();
    const watched = { table, turn, folder, pid: child.pid, isNew: true, ...options, onError };
    let live = watchTurn({ ...watched, wrapperEnd: wrapperEnd.promise });
    let stopBy = Number.POSITIVE_INFINITY;

    async function end(code: number | null): Promise<TurnEnd> {
      const owner = readWrapperPid(folder);
      if (owner !== child.pid && !hasRun(code, owner)) return endOfOther();
      wrapperEnd.resolve(code);
      const end = await live.ended;
      if (!existsSync(folder)) onError(`The folder of ${nameOf(turn)} is gone, and with it what was written`);
      return end;
    }

    /** Another wrapper has the folder, so this wrapper did nothing. The turn belongs to the other wrapper. */
    async function endOfOther(): Promise<TurnEnd> {
      const found = await find(turn, options);
      if (found.state === 'ended') return found.end;
      if (found.state === 'live') {
        live = found.turn;
        if (stopBy < Number.POSITIVE_INFINITY) live.stop(Math.max(0, stopBy - performance.now()));
        return live.ended;
      }
      const wasTaken = typeof readWrapperPid(folder) === 'number';
      return {
        ...endWithoutRecord(),
        spawnError: wasTaken ? null : `the start could not be recorded in ${folder}`,
      };
    }

    return {
      pid: child.pid,
      ended: exit.then(end).catch(endWithoutRecord),
      stop(graceMs) {
        stopBy = Math.min(stopBy, performance.now() + graceMs);
        live.stop(graceMs);
      },
      endInput: () => live.endInput(),
      processStats: () => live.processStats(),
    };
  }

  /**
   * The order matters: if a wrapper is missing in the snapshot, it has already written its pid or was never started.
   */
  async function hasBegun(turn: TurnKey): Promise<boolean> {
    const snapshot = await table.snapshot();
    return snapshot.tagged(turn).length > 0 || takenAt(turnFolder(runsDir, turn)) !== null;
  }

  async function find(turn: TurnKey, options: TurnOptions): Promise<FoundTurn> {
    const folder = turnFolder(runsDir, turn);
    const pid = existsSync(folder) ? await settledPid(turn, folder) : await pidWithoutFolder(turn);
    if (pid === null) return { state: 'never_started' };

    const startedAt = takenAt(folder) ?? Date.now();
    const wrapper = await wrapperOf(turn, pid);
    if (wrapper && hasExitRecord(folder)) await gone(wrapper, WRAPPER_TIMEOUT_MS);
    else if (wrapper) {
      const wrapperEnd = endOf(wrapper, folder);
      const live = watchTurn({ table, turn, folder, pid, ...options, onError, wrapperEnd });
      return { state: 'live', turn: live, startedAt };
    }
    const end = await finishTurn({ table, turn, folder, pid, ...options, onError });
    return { state: readExitRecord(folder) ? 'ended' : 'gone', end, startedAt };
  }

  /**
   * Pid of the wrapper that took the folder, or 0 if it died before it wrote its pid. Null if no wrapper took the
   * folder and no running wrapper still can.
   */
  async function settledPid(turn: TurnKey, folder: string): Promise<number | null> {
    const until = performance.now() + WRAPPER_TIMEOUT_MS;
    for (;;) {
      const pid = readWrapperPid(folder);
      if (typeof pid === 'number') return pid;
      const isStarting = (await table.snapshot()).tagged(turn).length > 0;
      if (!isStarting || performance.now() > until) {
        const last = readWrapperPid(folder);
        return last === 'empty' ? 0 : last;
      }
      await delay(POLL_MS);
    }
  }

  /** For a turn whose folder was removed: 0 if processes with its mark show that it was started, otherwise null. */
  async function pidWithoutFolder(turn: TurnKey): Promise<0 | null> {
    return (await table.snapshot()).tagged(turn).length > 0 ? 0 : null;
  }

  async function wrapperOf(turn: TurnKey, pid: number): Promise<ProcessInfo | null> {
    const snapshot = await table.snapshot();
    return snapshot.tagged(turn).find(each => each.pid === pid) ?? null;
  }

  /** Waits for the end of a wrapper that is not a child of this process. */
  function endOf(wrapper: ProcessInfo, folder: string): Promise<null> {
    return new Promise(resolve => {
      const stop = everyTick(() => {
        if (!hasExitRecord(folder) && table.alive(wrapper)) return;
        stop();
        gone(wrapper, WRAPPER_TIMEOUT_MS).then(() => resolve(null));
      });
    });
  }

  async function gone(wrapper: ProcessInfo, limitMs: number): Promise<void> {
    const until = performance.now() + limitMs;
    while (table.alive(wrapper) && performance.now() < until) await delay(POLL_MS);
  }

  /** In a sandbox a shell opens these descriptors. Elsewhere the wrapper opens them. */
  const confined: Supervisor['confined'] = async turn => {
    const { prefix, env, files } = await sandboxes.confine(turn, turnFolder(runsDir, turn), 'processes');
    const opened = files.map(({ flags }, at) => `${FIRST_FD + at}${flags === 'r' ? '<' : '>>'}"$${at + 1}"`);
    const script = `exec ${opened.join(' ')}; shift ${files.length}; exec "$@"`;
    const argv = ['/bin/sh', '-c', script, 'sh', ...files.map(({ path }) => path)] as const;
    return { ...turn.command, argv: [...argv, ...prefix, ...turn.command.argv], env };
  };

  return { start, hasBegun, find, sandboxProblem: sandboxes.problem, confined };
}

/**
 * Whether this supervisor's wrapper took the folder although its pid file is missing. An agent may have removed the
 * file.
 */
const hasRun = (code: number | null, owner: number | 'empty' | null): boolean =>
  code === null ? owner === null : code !== NOT_RUN;

const nameOf = ({ number, runId }: TurnKey): string => `turn ${number} of ${runId}`;
