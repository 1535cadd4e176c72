import { randomBytes } from 'node:crypto';
import type { RunId } from '../../schema/ids.ts';
import { isEnd, type Run, type RunStatus } from '../../schema/run.ts';
import type { Need } from '../../schema/run-card.ts';

export const FAILURES = ['error', 'timeout', 'lost'] as const satisfies RunStatus[];

/** After a day somebody has seen the failure, or does not care. */
export const FAILURE_COUNTS_MS = 24 * 60 * 60_000;

export const isFailure = (status: RunStatus): boolean => (FAILURES as readonly string[]).includes(status);

/** A failure of the last day. It needs attention unless the run was retried or continued since. */
export const isFreshFailure = ({ status, endedAt }: Pick<Run, 'status' | 'endedAt'>, now: number): boolean =>
  isFailure(status) && endedAt !== null && endedAt >= now - FAILURE_COUNTS_MS;

/** Longer than a weekend. After that, a run at its review limit is listed with the others. */
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
  /** The filter: a cursor is valid only for the same filter. */
  asked: string;
  at: number;
  /** Runs that had not ended, by attention level. They change while somebody pages through the list; the list must not. */
  live: Readonly<Record<'needs_you' | 'running' | 'queued', readonly RunId[]>>;
}

/** So many people never page through lists at the same time. */
const MAX_KEPT = 64;

/** The newest lists that somebody pages through. */
export class BoardPages {
  private readonly kept = new Map<string, BoardPage>();

  /** Returns a name for the cursor. */
  keep(page: BoardPage): string {
    const name = randomBytes(6).toString('base64url');
    this.kept.set(name, page);
    for (const oldest of this.kept.keys()) if (this.kept.size > MAX_KEPT) this.kept.delete(oldest);
    return name;
  }

  /** Undefined: too old, or from another hub. */
  find(name: string): BoardPage | undefined {
    return this.kept.get(name);
  }
}
