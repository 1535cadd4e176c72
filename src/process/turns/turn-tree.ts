import type { ProcessInfo } from '../table/process-info.ts';
import type { Mark, ProcessTable, Snapshot } from '../table/process-table.ts';

/** Start times are known to a tick, record times to the file system's clock. */
const CLOCK_SLACK_MS = 1000;

interface Members {
  wrapper: ProcessInfo | null;
  others: ProcessInfo[];
}

export interface TurnTree {
  /** Every living process of the turn. What was once found is kept in mind, so that a later orphan is still known. */
  members(): Promise<Members>;
  /**
   * The wrapper is no more since `at`. Its number may go to a stranger from then on, and the group's number with it:
   * only what was started before still counts as its group. Null: nobody knows since when, so nothing does.
   */
  wrapperEnded(at: number | null): void;
}

/**
 * A turn's processes: the wrapper's group and session, everything tagged with the turn, and all that descends from
 * these. What left the group and the session, was orphaned, cleared its environment and let go of the turn's output
 * before anyone looked is not found. Never Squad itself or what Squad was started by, nor anything below it.
 */
export function createTurnTree(table: ProcessTable, mark: Mark, wrapperPid: number): TurnTree {
  const known = new Map<number, ProcessInfo>();
  let wrapperStart: string | null = null;
  let groupUntil = Number.POSITIVE_INFINITY;
  let hasWrapper = true;

  /** Undefined when there is none, null when its number belongs to a stranger. */
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

/** This process and its ancestors. */
function ownLine(snapshot: Snapshot): Set<number> {
  const line = new Set([0, 1]);
  for (let pid = process.pid; pid > 1 && !line.has(pid); pid = snapshot.get(pid)?.ppid ?? 0) line.add(pid);
  return line;
}
