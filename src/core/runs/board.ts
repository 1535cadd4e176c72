import { randomBytes } from 'node:crypto';
import type { RunId } from '../../schema/ids.ts';
import { isEnd, type Run, type RunStatus } from '../../schema/run.ts';
import type { Need } from '../../schema/run-card.ts';

export const FAILURES = ['error', 'timeout', 'lost'] as const satisfies RunStatus[];

/** Age from which a failure does not count: after a day somebody has seen it, or nobody cares. */
export const FAILURE_COUNTS_MS = 24 * 60 * 60_000;

export const isFailure = (status: RunStatus): boolean => (FAILURES as readonly string[]).includes(status);

/** A failure within the last day. It needs attention unless the run was retried or continued since. */
export const isFreshFailure = ({ status, endedAt }: Pick<Run, 'status' | 'endedAt'>, now: number): boolean =>
  isFailure(status) && endedAt !== null && endedAt >= now - FAILURE_COUNTS_MS;

/** Time after which a run at its review limit no longer sorts first. Longer than a weekend. */
export const DECISION_COUNTS_MS = 7 * 24 * 60 * 60_000;

/** How much a run needs a person's attention. */
export function attentionLevel(
  run: Pick<Run, 'status' | 'endedAt'>,
  {
    asksUser,
    isUndecided,
    isTakenUp,
    now,
  }: { asksUser: boolean; isUndecided: boolean; isTakenUp: boolean; now: number },
): Need {
  if (isUndecided) return 'needs_you';
  if (isEnd(run.status)) return isFreshFailure(run, now) && !isTakenUp ? 'failed' : 'done';
  if (asksUser) return 'needs_you';
  return run.status === 'queued' ? 'queued' : 'running';
}

/** A list of runs as it was when its first page was requested. */
export interface BoardPage {
  /** The filter of the list. A cursor is valid only for the same filter. */
  asked: string;
  at: number;
  /**
   * Runs that had not ended, by attention level. Runs change while somebody pages through the list, but the list must
   * not.
   */
  live: Readonly<Record<'needs_you' | 'running' | 'queued', readonly RunId[]>>;
}

/** Maximum number of stored lists. It is higher than the number of people who page through lists at the same time. */
const MAX_KEPT = 64;

/** Keeps the newest lists that clients page through. */
export class BoardPages {
  private readonly kept = new Map<string, BoardPage>();

  /** Returns the list's name for use in a cursor. */
  keep(page: BoardPage): string {
    const name = randomBytes(6).toString('base64url');
    this.kept.set(name, page);
    for (const oldest of this.kept.keys()) if (this.kept.size > MAX_KEPT) this.kept.delete(oldest);
    return name;
  }

  /** Finds a stored list. Undefined if it was dropped, or belongs to another hub. */
  find(name: string): BoardPage | undefined {
    return this.kept.get(name);
  }
}
