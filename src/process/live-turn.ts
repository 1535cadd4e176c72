import { killTree, type Leftover, sweep } from './kill-tree.ts';
import type { ProcessTable } from './process-table.ts';
import type { TurnKey } from './turn-folder.ts';
import { markGone, readExitRecord, readSpawnError } from './turn-record.ts';
import { createTurnTree, type TurnTree } from './turn-tree.ts';

/** Structurally the core's `TurnEnd`. */
export interface TurnEnd {
  exitCode: number | null;
  spawnError: string | null;
  leftovers: Leftover[];
  endedAt: number;
}

/** Structurally the core's `LiveTurn`. */
export interface LiveTurn {
  pid: number;
  ended: Promise<TurnEnd>;
  stop(graceMs: number): void;
}

const SWEEP_GRACE_MS = 500;

export interface WatchedTurn {
  table: ProcessTable;
  turn: TurnKey;
  folder: string;
  pid: number;
  keepLeftovers: boolean;
  /** Settles when the wrapper is no more, with the exit code if its parent saw one. */
  wrapperEnd: Promise<number | null>;
}

/** A turn whose wrapper is alive, until nothing of it is. */
export function watchTurn(watched: WatchedTurn): LiveTurn {
  const { table, turn, folder, pid, keepLeftovers } = watched;
  const tree = createTurnTree(table, turn, pid);
  let killAt = Number.POSITIVE_INFINITY;
  let stopping: Promise<Leftover[]> | null = null;
  let isOver = false;

  async function finish(code: number | null): Promise<TurnEnd> {
    isOver = true;
    const seenAt = Date.now();
    const record = readExitRecord(folder);
    tree.wrapperEnded(record?.at ?? seenAt);
    const survivors = await (stopping ??
      endLeftovers(table, tree, record !== null, keepLeftovers).catch(() => []));
    return toEnd(folder, turn.runId, code, survivors, seenAt);
  }

  return {
    pid,
    ended: watched.wrapperEnd.then(finish).catch(() => unseen()),
    stop(graceMs) {
      killAt = Math.min(killAt, Date.now() + graceMs);
      // Once the wrapper is gone the rest is being swept already.
      if (!isOver) stopping ??= killTree(table, tree, () => killAt).catch(() => []);
    },
  };
}

/** A turn that was over before anyone looked: its leftovers may still be there. */
export async function finishTurn(found: Omit<WatchedTurn, 'wrapperEnd'>): Promise<TurnEnd> {
  const { table, turn, folder, pid, keepLeftovers } = found;
  const tree = createTurnTree(table, turn, pid);
  const record = readExitRecord(folder);
  // Without a record nobody knows since when, so the group's number says nothing: tags do.
  tree.wrapperEnded(record?.at ?? null);
  const leftovers = await endLeftovers(table, tree, record !== null, keepLeftovers);
  return toEnd(folder, turn.runId, null, leftovers, Date.now());
}

/** Without a record nobody else bounds what is left: it ends now, whatever was asked for. */
function endLeftovers(
  table: ProcessTable,
  tree: TurnTree,
  hasRecord: boolean,
  keep: boolean,
): Promise<Leftover[]> {
  if (!hasRecord) return sweep(table, tree, 0);
  return keep ? Promise.resolve([]) : sweep(table, tree, SWEEP_GRACE_MS);
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
