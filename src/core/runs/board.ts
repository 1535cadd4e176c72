import { randomBytes } from 'node:crypto';
import type { RunId } from '../../schema/ids.ts';
import { isEnd, type Run, type RunStatus } from '../../schema/run.ts';
import type { Need } from '../../schema/run-card.ts';

/** Ends that nobody wished for. */
export const FAILURES = ['error', 'timeout', 'lost'] as const satisfies RunStatus[];

/** After a day somebody has seen it, or does not care. */
export const FAILURE_COUNTS_MS = 24 * 60 * 60_000;

export const isFailure = (status: RunStatus): boolean => (FAILURES as readonly string[]).includes(status);

/** A failure of the last day: it wants to be looked at unless its task was taken up again since. */
export const isFreshFailure = ({ status, endedAt }: Pick<Run, 'status' | 'endedAt'>, now: number): boolean =>
  isFailure(status) && endedAt !== null && endedAt >= now - FAILURE_COUNTS_MS;

/** Longer than a weekend: after that a run whose reviews ran out is listed with the others. */
export const DECISION_COUNTS_MS = 7 * 24 * 60 * 60_000;

/** How much a run wants somebody to look at it. */
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

/** A list of runs as it was when its first page was asked for. */
export interface BoardPage {
  /** What was asked for: its pages are of no other list. */
  asked: string;
  at: number;
  /** Runs that had not ended, by how much they needed somebody. They move on; a list that is being read must not. */
  live: Readonly<Record<'needs_you' | 'running' | 'queued', readonly RunId[]>>;
}

/** More people than this leaf at the same time only where nobody means to. */
const MAX_KEPT = 64;

/** Lists that somebody is leafing through, the newest. */
export class BoardPages {
  private readonly kept = new Map<string, BoardPage>();

  /** Returns the name to ask for it with. */
  keep(page: BoardPage): string {
    const name = randomBytes(6).toString('base64url');
    this.kept.set(name, page);
    for (const oldest of this.kept.keys()) if (this.kept.size > MAX_KEPT) this.kept.delete(oldest);
    return name;
  }

  /** Undefined: that was too long ago, or before this hub. */
  find(name: string): BoardPage | undefined {
    return this.kept.get(name);
  }
}
