import type { ProcessInfo } from '../table/process-info.ts';
import type { Mark, ProcessTable, Snapshot } from '../table/process-table.ts';

/** Tolerance for comparing times: start times are precise to a clock tick, record times to the file system's clock. */
const CLOCK_SLACK_MS = 1000;

export interface Members {
  wrapper: ProcessInfo | null;
  others: ProcessInfo[];
}

export interface TurnTree {
  /** Every running process of the turn. Remembers processes, so that they are found after they are orphaned. */
  members(): Promise<Members>;
  /**
   * Whether a turn whose wrapper has ended has no process left. Every process of the turn started after the wrapper,
   * so there are few to check. False means that a process is left, or that only `members` can decide.
   */
  isProvenEmpty(): boolean;
  /**
   * Call this when the wrapper has ended at `at`. Its pid and group id may be reused afterwards, so only processes
   * that started before count as its group. With null the time is unknown, and no process counts.
   */
  wrapperEnded(at: number | null): void;
}

/**
 * Finds a turn's processes: the wrapper's group and session, everything tagged with the turn, and all their
 * descendants. A process escapes only if, before the first snapshot, it left the group and session, was orphaned,
 * cleared its environment and closed the turn's output. Squad itself, its ancestors and their other descendants are
 * never included.
 */
export function createTurnTree(
  table: ProcessTable,
  mark: Mark,
  wrapperPid: number,
  { isNew = false } = {},
): TurnTree {
  const startedBefore = isNew ? table.countStarted() : null;
  const known = new Map<number, ProcessInfo>();
  let wrapperStart: string | null = null;
  let groupUntil = Number.POSITIVE_INFINITY;
  let hasWrapper = true;

  /** The turn's wrapper in a list of processes. Undefined if it has ended, null if another process has its pid. */
  function wrapperIn(snapshot: Snapshot): ProcessInfo | null | undefined {
    const found = hasWrapper ? snapshot.get(wrapperPid) : undefined;
    if (found) wrapperStart ??= found.startTime;
    return found && found.startTime !== wrapperStart ? null : found;
  }

  function roots(snapshot: Snapshot): ProcessInfo[] {
    const isOurs = wrapperPid > 1 && wrapperIn(snapshot) !== null;
    const group = isOurs ? snapshot.group(wrapperPid) : [];
    const inGroup = group.filter(each => each.startedAt <= groupUntil);
    const again = [...known].flatMap(([pid, { startTime }]) => {
      const now = snapshot.get(pid);
      return now?.startTime === startTime ? now : [];
    });
    return [...inGroup, ...snapshot.tagged(mark), ...again];
  }

  return {
    isProvenEmpty() {
      if (startedBefore === null || hasWrapper) return false;
      const snapshot = table.snapshotAfter(wrapperPid, startedBefore);
      return snapshot !== null && closure(snapshot, roots(snapshot)).length === 0;
    },
    async members() {
      const snapshot = await table.snapshot();
      const found = closure(snapshot, roots(snapshot));
      known.clear();
      for (const each of found) known.set(each.pid, each);
      const wrapper = wrapperIn(snapshot) ?? null;
      return { wrapper, others: found.filter(each => each !== wrapper) };
    },
    wrapperEnded(at) {
      hasWrapper = false;
      groupUntil = at === null ? Number.NEGATIVE_INFINITY : at + CLOCK_SLACK_MS;
    },
  };
}

function closure(snapshot: Snapshot, roots: ProcessInfo[]): ProcessInfo[] {
  const found = new Set<ProcessInfo>();
  const untouchable = ownLine(snapshot);
  const waiting = [...roots];
  for (let each = waiting.pop(); each; each = waiting.pop()) {
    if (found.has(each) || untouchable.has(each.pid)) continue;
    found.add(each);
    waiting.push(...snapshot.children(each.pid));
  }
  return [...found];
}

/** Pids of this process and its ancestors. */
function ownLine(snapshot: Snapshot): Set<number> {
  const line = new Set([0, 1]);
  for (let pid = process.pid; pid > 1 && !line.has(pid); pid = snapshot.get(pid)?.ppid ?? 0) line.add(pid);
  return line;
}
