import { killTree, type Leftover, type Swept, sweep } from '../table/kill-tree.ts';
import type { ProcessTable } from '../table/process-table.ts';
import { type ProcessStats, readProcessStats } from './process-stats.ts';
import { hasExitRecord, markGone, readExitRecord, readSpawnError, type TurnKey } from './turn-record.ts';
import { createTurnTree, type TurnTree } from './turn-tree.ts';

/** Structurally the core's `TurnEnd`. */
export interface TurnEnd {
  exitCode: number | null;
  spawnError: string | null;
  /**
   * Processes that the turn left behind when it ended by itself, all ended by Squad. Empty after a stop, which ends the tree as a
   * whole. Processes that could not be ended are not in here: they are reported to `onError`.
   */
  leftovers: Leftover[];
  endedAt: number;
}

/** Structurally the core's `LiveTurn`. */
export interface LiveTurn {
  pid: number;
  ended: Promise<TurnEnd>;
  stop(graceMs: number): void;
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
  /** Settles when the wrapper is no more, with the exit code if its parent saw one. */
  wrapperEnd: Promise<number | null>;
  /** Something nobody waits for, but somebody should read. */
  onError(message: string): void;
  giveUpMs?: number;
}

/** A turn whose wrapper is alive, until nothing of it is. */
export function watchTurn(watched: WatchedTurn): LiveTurn {
  const { table, turn, folder, pid, giveUpMs } = watched;
  const tree = createTurnTree(table, turn, pid);
  let killAt = Number.POSITIVE_INFINITY;
  let stopping: Promise<Swept> | null = null;
  let isOver = false;

  async function finish(code: number | null): Promise<TurnEnd> {
    isOver = true;
    const seenAt = Date.now();
    const record = readExitRecord(folder);
    tree.wrapperEnded(record?.at ?? seenAt);
    const swept = await (stopping ?? endLeftovers(watched, tree, record !== null).catch(() => NOTHING));
    tellSurvivors(watched, swept);
    return toEnd(folder, turn.runId, code, swept.ended, seenAt);
  }

  return {
    pid,
    ended: watched.wrapperEnd.then(finish).catch(() => unseen()),
    stop(graceMs) {
      killAt = Math.min(killAt, performance.now() + graceMs);
      // Once there is a record the agent has ended by itself: what it left is swept, now or in a moment, and reported.
      if (!isOver && !hasExitRecord(folder))
        stopping ??= killTree(table, tree, () => killAt, giveUpMs).then(
          survivors => ({ ended: [], survivors }),
          () => NOTHING,
        );
    },
    processStats: () => readProcessStats(table, tree),
  };
}

/** A turn that was over before anyone looked: its leftovers may still be there. */
export async function finishTurn(found: Omit<WatchedTurn, 'wrapperEnd'>): Promise<TurnEnd> {
  const { table, turn, folder, pid } = found;
  const tree = createTurnTree(table, turn, pid);
  const record = readExitRecord(folder);
  // Without a record nobody knows since when, so the group's number says nothing: tags do.
  tree.wrapperEnded(record?.at ?? null);
  const swept = await endLeftovers(found, tree, record !== null);
  tellSurvivors(found, swept);
  return toEnd(folder, turn.runId, null, swept.ended, Date.now());
}

/** Without a record nobody else bounds what is left: it ends now, whatever was asked for. */
async function endLeftovers(
  { table, keepLeftovers, giveUpMs }: Omit<WatchedTurn, 'wrapperEnd'>,
  tree: TurnTree,
  hasRecord: boolean,
): Promise<Swept> {
  if (!hasRecord) return sweep(table, tree, 0, giveUpMs);
  return keepLeftovers ? NOTHING : sweep(table, tree, SWEEP_GRACE_MS, giveUpMs);
}

function tellSurvivors({ turn, onError }: Omit<WatchedTurn, 'wrapperEnd'>, { survivors }: Swept): void {
  for (const { pid, command } of survivors)
    onError(`Could not end process ${pid} (${command}) of turn ${turn.number} of ${turn.runId}`);
}

/** The record is read again after the tree is gone: it may have been written at the last moment. */
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
    endedAt: record?.at ?? seenAt,
  };
}

export const unseen = (): TurnEnd => ({
  exitCode: null,
  spawnError: null,
  leftovers: [],
  endedAt: Date.now(),
});
