import { killTree, type Leftover, type Swept, signal, sweep } from '../table/kill-tree.ts';
import type { ProcessTable } from '../table/process-table.ts';
import { type ProcessStats, readProcessStats } from './process-stats.ts';
import {
  hasExitRecord,
  markGone,
  readExitRecord,
  readFeed,
  readSpawnError,
  type TurnKey,
} from './turn-record.ts';
import { createTurnTree, type TurnTree } from './turn-tree.ts';

/** Same shape as the core's type `TurnEnd`. */
export interface TurnEnd {
  exitCode: number | null;
  spawnError: string | null;
  /**
   * Processes that a turn left behind when it ended by itself, and that Squad then ended. Empty after a stop, which
   * ends the whole tree. Processes that could not be ended are reported to `onError` instead.
   */
  leftovers: Leftover[];
  endedAt: number;
}

/** Same shape as the core's type `LiveTurn`. */
export interface LiveTurn {
  pid: number;
  ended: Promise<TurnEnd>;
  stop(graceMs: number): void;
  endInput(): Promise<void>;
  processStats(): Promise<ProcessStats>;
}

const SWEEP_GRACE_MS = 500;
const NOTHING: Swept = { ended: [], survivors: [] };

export interface WatchedTurn {
  table: ProcessTable;
  turn: TurnKey;
  folder: string;
  pid: number;
  keepLeftovers: boolean;
  /** True if the wrapper was started just now. */
  isNew?: boolean;
  /** Settles when the wrapper has ended, with its exit code if its parent saw one. */
  wrapperEnd: Promise<number | null>;
  /** Logs an error that no caller waits for. */
  onError(message: string): void;
  giveUpMs?: number;
}

/** Watches a turn from the start of its wrapper until none of its processes is left. */
export function watchTurn(watched: WatchedTurn): LiveTurn {
  const { table, turn, folder, pid, isNew, giveUpMs } = watched;
  const tree = createTurnTree(table, turn, pid, { isNew });
  let killAt = Number.POSITIVE_INFINITY;
  let stopping: Promise<Swept> | null = null;
  let isOver = false;
  const nothingEnded = (thrown: unknown): Swept => {
    const what = `turn ${turn.number} of ${turn.runId}`;
    watched.onError(`Could not end the processes of ${what}: ${(thrown as Error).message}`);
    return NOTHING;
  };

  async function finish(code: number | null): Promise<TurnEnd> {
    isOver = true;
    const seenAt = Date.now();
    const record = readExitRecord(folder);
    tree.wrapperEnded(record?.at ?? seenAt);
    const swept = await (stopping ?? endLeftovers(watched, tree, record !== null).catch(nothingEnded));
    reportSurvivors(watched, swept);
    return toEnd(folder, turn.runId, code, swept.ended, seenAt);
  }

  return {
    pid,
    ended: watched.wrapperEnd.then(finish).catch(() => endWithoutRecord()),
    stop(graceMs) {
      killAt = Math.min(killAt, performance.now() + graceMs);
      // With an exit record the agent has ended by itself. Its leftovers are ended and reported anyway.
      if (!isOver && !hasExitRecord(folder))
        stopping ??= killTree(table, tree, () => killAt, giveUpMs).then(
          survivors => ({ ended: [], survivors }),
          nothingEnded,
        );
    },
    async endInput() {
      const feed = readFeed(folder);
      const { others } = await tree.members();
      const found = others.find(each => each.pid === feed && each.ppid === pid);
      if (found) signal(table, found, 'SIGKILL');
    },
    processStats: () => readProcessStats(table, tree, readFeed(folder)),
  };
}

/** Finishes a turn that has already ended. Processes that it left behind may still be running. */
export async function finishTurn(found: Omit<WatchedTurn, 'wrapperEnd'>): Promise<TurnEnd> {
  const { table, turn, folder, pid } = found;
  const tree = createTurnTree(table, turn, pid);
  const record = readExitRecord(folder);
  // The end time is unknown without an exit record, so the group id may have been reused. Then only tags show which
  // processes belong to the turn.
  tree.wrapperEnded(record?.at ?? null);
  const swept = await endLeftovers(found, tree, record !== null);
  reportSurvivors(found, swept);
  return toEnd(folder, turn.runId, null, swept.ended, Date.now());
}

/** Without an exit record nothing else limits the leftovers, so they are ended now, even if `keepLeftovers` is set. */
async function endLeftovers(
  { table, keepLeftovers, giveUpMs }: Omit<WatchedTurn, 'wrapperEnd'>,
  tree: TurnTree,
  hasRecord: boolean,
): Promise<Swept> {
  if (!hasRecord) return sweep(table, tree, 0, giveUpMs);
  if (keepLeftovers || tree.isProvenEmpty()) return NOTHING;
  return sweep(table, tree, SWEEP_GRACE_MS, giveUpMs);
}

function reportSurvivors({ turn, onError }: Omit<WatchedTurn, 'wrapperEnd'>, { survivors }: Swept): void {
  for (const { pid, command } of survivors)
    onError(`Could not end process ${pid} (${command}) of turn ${turn.number} of ${turn.runId}`);
}

/**
 * The end of a turn. The exit record is read again, because the wrapper may have written it as the last process of
 * the tree.
 */
function toEnd(
  folder: string,
  runId: string,
  code: number | null,
  leftovers: Leftover[],
  seenAt: number,
): TurnEnd {
  const record = readExitRecord(folder);
  if (!record) markGone(folder);
  const exitCode = record?.status ?? code;
  return {
    exitCode,
    spawnError: exitCode === null ? null : readSpawnError(folder, runId, exitCode),
    leftovers,
    // Without a record and an exit code, a process of the tree may have run until now.
    endedAt: record?.at ?? (code === null ? Date.now() : seenAt),
  };
}

export const endWithoutRecord = (): TurnEnd => ({
  exitCode: null,
  spawnError: null,
  leftovers: [],
  endedAt: Date.now(),
});
