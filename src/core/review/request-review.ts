import { randomUUID } from 'node:crypto';
import { SquadError } from '../../schema/error.ts';
import { newReviewId } from '../../schema/ids.ts';
import type { BranchMove, Intent, Review } from '../../schema/review.ts';
import type { Run } from '../../schema/run.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { retryWhileBranchMoves } from './give-feedback.ts';
import { ALL_REVIEWS, eventOf, type PlannedReview, type ReviewPorts } from './ports.ts';
import { reviewerPrompt } from './prompts.ts';
import type { ReviewAsk } from './review-input.ts';
import { worktreeNeeded } from './reviewer-role.ts';
import { refuseBeyondLimit, roundsOf } from './rounds.ts';

export interface RequestedReview {
  review: Review;
  reviewer: Run;
  worktree: Worktree;
  /** Name of the reviewer's tmux session. Null if it has none. */
  sessionName: string | null;
  notes: string[];
}

type RequestIntent = Extract<Intent, { kind: 'request_review' }>;

const HOUR_MS = 3_600_000;

/** Commits all work of the coder to its branch, starts a reviewer in a fork of it, and lets the coder wait: all of it or nothing. */
export async function requestReview(
  coder: Run,
  ask: ReviewAsk,
  ports: ReviewPorts,
): Promise<RequestedReview> {
  const { store, clock, branches, worktrees, runner, sessions, checkpoint } = ports;
  const [before, ownLimit] = await Promise.all([
    store.reviews({ lineageId: coder.lineageId, limit: ALL_REVIEWS }),
    store.reviewLimit(coder.lineageId),
    undoEarlierRequests(coder, ports),
  ]);
  refuseOpen(coder, before);
  const tree = worktreeOf(coder);
  const rounds = roundsOf(before, ownLimit, ports.settings());
  refuseBeyondLimit(rounds, coder.id);

  const round = rounds.current + 1;
  const prepare = () => preparedWork(coder, tree, round, branches);
  // Both run in parallel, because each takes time and neither writes anything.
  const [planned, found] = await Promise.all([
    ports.plan(
      coder,
      reviewerPrompt({
        ...{ coderId: coder.id, task: coder.task, worktree: tree },
        ...{ round, rounds: rounds.max, ...ask },
      }),
    ),
    prepare(),
  ]);
  const fork = forkOf(planned);
  const intent: RequestIntent = {
    ...{ id: randomUUID(), kind: 'request_review', at: clock.now(), move: null },
    ...{ coderId: coder.id, reviewerId: fork.run.id, coderTree: tree, reviewerTree: fork.worktree },
  };
  try {
    let work: Work | null = found;
    const commit = await retryWhileBranchMoves(async () => {
      const { move, tip } = work ?? (await prepare());
      work = null;
      Object.assign(intent, {
        move,
        reviewerTree: { ...fork.worktree, base: tip },
      } satisfies Partial<RequestIntent>);
      await store.commit({ intents: [{ ...intent }], events: [] });
      checkpoint('request_review:1');
      // The branch moves while the reviewer's work tree is created. The work tree starts at the commit and does not
      // depend on the branch.
      await bothOrNeither(
        async () => {
          if (move) await branches.apply(tree, move);
          checkpoint('request_review:2');
        },
        // The work tree is created now, so that git's errors appear here. Its set-up can take long, so it waits until
        // the reviewer starts.
        () => worktrees.ensure(intent.reviewerTree, null, undefined, fork.run.directory),
        () => worktrees.remove(intent.reviewerTree, { dropEmptyBranch: true }),
      );
      return tip;
    });
    checkpoint('request_review:3');
    fork.run.worktree = intent.reviewerTree;
    const review = openReview(coder, { reviewerId: fork.run.id, round, commit, ask }, ports);
    const { id: reviewId, reviewerId, iteration } = review;
    const { path, branch } = intent.reviewerTree;
    const events = [
      eventOf(clock, coder, { type: 'review.requested', reviewId, reviewerId, iteration, commit }),
      eventOf(clock, fork.run, { type: 'worktree.made', path, branch }),
    ];
    await runner.submit(planned.plan, {
      awaiting: coder.id,
      change: { reviews: [review], intentsDone: [intent.id], events },
    });
    checkpoint('request_review:4');
    const sessionName = sessions.nameOf(fork.run);
    return { review, reviewer: fork.run, worktree: intent.reviewerTree, sessionName, notes: planned.notes };
  } catch (thrown) {
    await undoRequest(intent, ports).catch(again =>
      ports.warn(`The review request of ${coder.id} is undone at the next start`, again),
    );
    throw thrown;
  }
}

/** Runs both functions. If `first` fails, undoes `second` too, so that both can be repeated from another commit. */
async function bothOrNeither(
  first: () => Promise<void>,
  second: () => Promise<unknown>,
  undoSecond: () => Promise<unknown>,
): Promise<void> {
  const [done, made] = await Promise.allSettled([first(), second()]);
  if (done.status === 'rejected') {
    if (made.status === 'fulfilled') await undoSecond();
    throw done.reason;
  }
  if (made.status === 'rejected') throw made.reason;
}

interface Opening {
  reviewerId: Run['id'];
  round: number;
  commit: string;
  ask: ReviewAsk;
}

function openReview(
  { id: coderId, lineageId }: Run,
  { reviewerId, round, commit, ask }: Opening,
  { clock, settings }: ReviewPorts,
): Review {
  const now = clock.now();
  return {
    ...{ id: newReviewId(), lineageId, coderId, reviewerId, iteration: round, commit },
    ...{ completionMessage: ask.completionMessage, requestedAt: now },
    deadlineAt: now + Math.round(settings()['review.timeout_hours'] * HOUR_MS),
    ...{ outcome: null, reason: null, feedback: null, priority: null, actionableItems: [] },
    ...{ feedbackBy: null, feedbackCommit: null, closedAt: null, toldInTurn: null },
  };
}

/** Restores the state before the request, even of a request that was only begun. Safe to repeat. */
export async function undoRequest(
  { id, reviewerId, coderTree, reviewerTree, move }: RequestIntent,
  { store, branches, worktrees, runner, warn }: ReviewPorts,
  patienceMs?: number,
): Promise<void> {
  // The transaction that saved the reviewer also closed the intent, so the request is complete.
  if (runner.current(reviewerId) ?? (await store.run(reviewerId))) return;
  // If undoing fails, an extra commit or folder is left over. That is harmless, but repeating the intent later would
  // not be.
  const left = (what: string) => (thrown: unknown) =>
    warn(`${what} is left over from a review that did not start`, thrown);
  if (move)
    await branches
      .undo(coderTree, move, undefined, patienceMs)
      .catch(left(`A commit on ${coderTree.branch}`));
  const removal = await worktrees
    .remove(reviewerTree, { dropEmptyBranch: true })
    .catch(left(reviewerTree.path));
  if (removal?.outcome === 'kept') left(reviewerTree.path)(new Error(removal.why));
  await store.commit({ intentsDone: [id], events: [] });
}

/**
 * Undoes interrupted requests of this run before a new one. Undoing them later could destroy a review that is open by
 * then.
 */
async function undoEarlierRequests({ id }: Run, ports: ReviewPorts): Promise<void> {
  for (const intent of await ports.store.intents())
    if (intent.kind === 'request_review' && intent.coderId === id) await undoRequest(intent, ports);
}

function worktreeOf({ id, worktree, status }: Run): Worktree {
  if (status !== 'running')
    throw new SquadError('REVIEW_OVER', `Run ${id} is ${status}: only a running run can ask for a review`);
  if (worktree) return worktree;
  throw worktreeNeeded(`Run ${id} works in the caller's folder and has no branch of its own to review`);
}

function refuseOpen({ id, status }: Run, reviews: Review[]): void {
  const last = reviews.findLast(({ coderId }) => coderId === id);
  if (!last || (last.outcome !== null && status !== 'waiting_review')) return;
  throw new SquadError(
    'REVIEW_OPEN',
    last.outcome === null
      ? `Review ${last.iteration} of run ${id} is still open (reviewer: ${last.reviewerId})`
      : `Review ${last.iteration} of run ${id} is over, and the next turn of the run begins with its result`,
    { suggestions: ['End your turn: the next one begins with the result.'] },
  );
}

interface Work {
  move: BranchMove | null;
  /** Commit of the branch after the move. */
  tip: string;
}

async function preparedWork(
  coder: Run,
  tree: Worktree,
  round: number,
  branches: ReviewPorts['branches'],
): Promise<Work> {
  const move = await branches.prepareAll(tree, `Work of ${coder.id} for review ${round}`);
  const tip = move?.to ?? (await branches.tip(tree));
  // A review without changes is refused, because it would cost as much as any other review.
  if (tip === tree.base) throw nothingToReview(coder, tree);
  return { move, tip };
}

function nothingToReview({ id }: Run, { branch }: Worktree): SquadError {
  return new SquadError(
    'NOTHING_TO_PROPOSE',
    `Run ${id} has changed nothing on ${branch}: there is nothing to review`,
    {
      suggestions: [
        'Do the work first, or end your turn and say why there is nothing to do. No review was used up.',
      ],
    },
  );
}

function forkOf({ plan }: PlannedReview): { run: Run; worktree: Worktree } {
  const run = plan.runs[0]?.run;
  if (run?.worktree) return { run, worktree: run.worktree };
  throw new SquadError('INTERNAL', 'A reviewer was planned without a work tree');
}
