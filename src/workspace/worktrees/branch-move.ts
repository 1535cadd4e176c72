import { setTimeout as pause } from 'node:timers/promises';
import { SquadError } from '../../schema/error.ts';
import type { BranchMove } from '../../schema/review.ts';
import { GitError } from '../git/git.ts';
import { asBytes, COMMITTER, entryAt, type ScratchIndex, sameContent } from './branch-commit.ts';
import { type FilePlan, placeFile, planFile } from './branch-move-file.ts';
import { type BranchPlace, gitOperationInProgress, standingOf, tipOf } from './branch-place.ts';
import { swapIndex } from './index-swap.ts';
import { PreviousIndex } from './previous-index.ts';

/** Git waits for a lock of a branch only a moment. */
const REF_TRIES = 20;
const TRY_EVERY_MS = 50;

/**
 * The branch from one commit to the other, its index and its file with it. Killed at any point, it is finished by being done
 * again: the index and the file are only staged changes until the branch is there, so both come out the same a second time;
 * once it is there the index was before it, and only the file may be missing.
 */
export async function applyMove(place: BranchPlace, move: BranchMove, path?: string): Promise<void> {
  const { tip, isCheckedOut } = await standingOf(place);
  if (tip !== move.from && (await isIn(place, move.to, tip))) {
    if (path !== undefined && isCheckedOut) await finishFile(place, move, path, tip);
    return;
  }
  if (tip !== move.from) throw moved(place, 'it is at another commit');
  if (!isCheckedOut) return moveRef(place, move);
  if (path === undefined) {
    if (gitOperationInProgress(place)) throw moved(place, `${gitOperationInProgress(place)} has begun`);
    const former = new PreviousIndex(place.git, move);
    await swap(place, move, index => wholeIndex(index, move.to), { former });
    return former.dropOlder();
  }
  const [plan, entry] = await Promise.all([planFile(place, move, path), entryAt(place.git, move.to, path)]);
  if (plan === 'changed') throw moved(place, `${path} was changed`);
  await swap(place, move, index => index.set([[asBytes(path), entry]]), { file: plan });
}

/** Only where the branch still is where `applyMove` put it. Whatever else was done to the file since stays. */
export async function undoMove(place: BranchPlace, move: BranchMove, path?: string): Promise<void> {
  const { tip, isCheckedOut } = await standingOf(place);
  const back = { from: move.to, to: move.from };
  if (tip === move.to && !isCheckedOut) return moveRef(place, back);
  // Killed between index and branch, it is still at `from`, and the index is not.
  if (!isCheckedOut || (tip !== move.to && tip !== move.from)) return;
  if (path === undefined) return undoWhole(place, move, tip === move.to ? back : null);
  const { git } = place;
  const [was, ours] = await Promise.all([move.from, move.to].map(commit => entryAt(git, commit, path)));
  const restore = async (index: ScratchIndex) => {
    const [staged] = await index.changes('diff-index', '--cached', move.from, '--', path);
    if (staged?.path === asBytes(path) && sameContent(staged.is, ours!))
      await index.set([[staged.path, was!]]);
  };
  const plan = await planFile(place, move, path, 'back');
  await swap(place, tip === move.to ? back : null, restore, { file: plan === 'changed' ? null : plan });
}

async function undoWhole(place: BranchPlace, move: BranchMove, back: BranchMove | null): Promise<void> {
  if (gitOperationInProgress(place)) return;
  const former = new PreviousIndex(place.git, move);
  if (await former.isKept()) await swap(place, back, index => former.restore(index));
  else if (back) await swap(place, back, index => wholeIndex(index, move.from));
  await former.drop();
}

async function swap(
  place: BranchPlace,
  move: BranchMove | null,
  build: (index: ScratchIndex) => Promise<void>,
  { file = null, former }: { file?: FilePlan | null; former?: PreviousIndex } = {},
): Promise<void> {
  const make = async () => move && moveRef(place, move);
  const takeBack = async () => move && moveRef(place, { from: move.to, to: move.from });
  const along = async () => {
    if (!file) await make();
    else if (!(await placeFile(place, file, { make, takeBack })))
      throw moved(place, `${file.path} was changed`);
  };
  const tip = move?.from ?? (await tipOf(place));
  const keep = former && (() => former.keep());
  const { patienceMs } = place;
  if (!(await swapIndex(place.git, { tip, build, along, keep, patienceMs })))
    throw moved(place, 'its index keeps changing');
}

/** As after a commit of everything: what git has looked at before it need not look at again, and the rest it does now. */
async function wholeIndex(index: ScratchIndex, commit: string): Promise<void> {
  await index.run(['read-tree', '--reset', commit]);
  await index.run(['update-index', '-q', '--refresh', '--ignore-submodules']).catch(ignoreDirty);
}

/** It ends with 1 when a file is not as in the index, which is no trouble of ours. */
export function ignoreDirty(thrown: unknown): void {
  if (!(thrown instanceof GitError && thrown.exitCode === 1)) throw thrown;
}

async function moveRef(place: BranchPlace, { from, to }: BranchMove): Promise<void> {
  const args = ['update-ref', '--no-deref', '-m', 'squad', place.ref, to, from];
  for (let tried = 1; ; tried++) {
    try {
      await place.git.run(args, { env: COMMITTER });
      return;
    } catch (thrown) {
      if (!(thrown instanceof GitError) || thrown.exitCode === null) throw thrown;
      if ((await tipOf(place)) !== from) throw moved(place, 'it is at another commit');
      if (tried === REF_TRIES || !/File exists/.test(thrown.said)) throw thrown;
    }
    await pause(TRY_EVERY_MS);
  }
}

async function finishFile(place: BranchPlace, move: BranchMove, path: string, tip: string): Promise<void> {
  const [ours, now] = await Promise.all([move.to, tip].map(commit => entryAt(place.git, commit, path)));
  if (!sameContent(ours!, now!)) return;
  const plan = await planFile(place, move, path);
  // Gone from the folder after the branch went on: that was the agent.
  if (plan === null || plan === 'changed' || (tip !== move.to && plan.seen.kind === 'none')) return;
  await placeFile(place, plan, null);
}

async function isIn({ git }: BranchPlace, commit: string, tip: string): Promise<boolean> {
  if (commit === tip) return true;
  try {
    await git.run(['merge-base', '--is-ancestor', commit, tip], { env: COMMITTER });
    return true;
  } catch (thrown) {
    ignoreDirty(thrown);
    return false;
  }
}

const moved = ({ worktree }: BranchPlace, why: string): SquadError =>
  new SquadError('BRANCH_MOVED', `Somebody worked on the branch ${worktree.branch} meanwhile: ${why}.`, {
    suggestions: ['Nothing was changed. Try again.'],
  });
