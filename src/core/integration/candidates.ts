import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { isAtReviewLimit } from '../../schema/shown-status.ts';
import type { Worktree } from '../../schema/worktree.ts';
import type { Checkout } from '../ports/worktrees.ts';

export interface Candidate {
  /** The last that worked in it. */
  run: Run;
  worktree: Worktree;
}

export interface LeftOut {
  runId: RunId;
  why: string;
}

export interface Chosen {
  candidates: Candidate[];
  leftOut: LeftOut[];
}

/** Whose branches are ready to be merged: of all these runs, or of those that were named. In the order they were given. */
export function chooseCandidates(runs: readonly Run[], named: ReadonlySet<RunId> | null): Chosen {
  const chosen: Chosen = { candidates: [], leftOut: [] };
  const trees = Map.groupBy(runs, run => run.worktree?.path ?? run.id);
  for (const sharing of trees.values()) {
    const isNamed = sharing.some(({ id }) => named?.has(id));
    if (named && !isNamed) continue;
    // Nobody expects a reviewer's branch to be merged.
    if (!named && sharing.every(({ reviewOf }) => reviewOf !== null)) continue;
    const run = sharing.reduce((last, each) => (each.createdAt > last.createdAt ? each : last));
    const why = reasonAgainst(run, sharing, isNamed);
    if (why !== null) chosen.leftOut.push({ runId: run.id, why });
    else if (run.worktree) chosen.candidates.push({ run, worktree: run.worktree });
  }
  return chosen;
}

function reasonAgainst(run: Run, sharing: readonly Run[], isNamed: boolean): string | null {
  if (!run.worktree) return 'it has no work tree of its own';
  if (run.reviewOf !== null) return `it reviewed ${run.reviewOf}, whose branch counts`;
  const live = sharing.find(({ status }) => !isEnd(status));
  if (live) return `${live.id === run.id ? 'it' : live.id} has not ended`;
  if (isAtReviewLimit(run) && !isNamed)
    return 'its reviews ran out and the last did not approve: name it to take it in all the same';
  if (run.status !== 'completed' && !isNamed)
    return `it ended as ${run.status}: name it to take it in all the same`;
  return null;
}

/**
 * Checkouts of the one repository they are of: where they were asked for, and where the caller is. `names` are those of
 * the repositories, in the order of the candidates.
 */
export function checkoutsOf(
  candidates: readonly Candidate[],
  names: readonly string[],
  caller: Checkout | null,
): [string, ...string[]] {
  const roots = [...new Set(candidates.map(({ worktree }) => worktree.repository))];
  if (new Set(names).size > 1)
    throw new SquadError('INVALID_INPUT', `These runs are of several repositories: ${roots.join(', ')}`, {
      suggestions: ['Name the runs of one of them: squad integrate RUN…'],
    });
  const own = caller && caller.repository === names[0] ? [caller.root] : [];
  return [...new Set([...own, ...roots])] as [string, ...string[]];
}

/** The one branch they are meant for, unless the caller says which. */
export function targetOf(candidates: readonly Candidate[], into: string | undefined): string {
  if (into !== undefined) return into;
  const targets = [...new Set(candidates.map(({ worktree }) => worktree.baseBranch))];
  const [only] = targets;
  if (targets.length === 1 && only) return only;
  const meant = targets.map(branch => branch ?? 'none').join(', ');
  throw new SquadError('INVALID_INPUT', `It is not clear which branch these runs are meant for: ${meant}`, {
    suggestions: ['Say which: --into BRANCH'],
  });
}
