import { lstat, readdir, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Branches } from '../../core/ports/worktrees.ts';
import { SquadError } from '../../schema/error.ts';
import type { BranchMove } from '../../schema/review.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { linkOrCopy } from '../files/hard-links.ts';
import { COMMITTER, entryAt, isAncestor, sameContent } from '../git/commits.ts';
import { type Environment, type Git, GitError, openGit, runWithLockRetry } from '../git/git.ts';
import { gitOperationInProgress } from '../git/git-folder.ts';
import { type GitIndex, indexOf, isSameIndex, readIndex, withScratchIndex } from '../git/git-index.ts';
import { withIndexLock } from '../git/index-lock.ts';
import { asBytes, type FilePlan, placeFile, planFile, prepareFile } from './branch-file.ts';
import { prepareAll } from './commit-all.ts';

/**
 * Creates commits on branches of runs with low-level git commands in a scratch index. Neither the agent's index nor
 * its folder is used.
 */
export function createBranches({ env = process.env }: { env?: Environment } = {}): Branches {
  const at = async <T>(worktree: Worktree, act: (branch: RunBranch) => Promise<T>): Promise<T> => {
    try {
      return await act(await RunBranch.open(worktree, env));
    } catch (error) {
      throw error instanceof GitError ? gitFailed(worktree, error) : error;
    }
  };
  return {
    tip: worktree => at(worktree, branch => branch.tip()),
    prepareAll: (worktree, message) => at(worktree, branch => prepareAll(branch, message, env)),
    prepareFile: (worktree, file, message) => at(worktree, branch => prepareFile(branch, file, message)),
    apply: (worktree, move, path, lockTimeoutMs) =>
      at(worktree, branch => branch.apply(move, { path, lockTimeoutMs })),
    undo: (worktree, move, path, lockTimeoutMs) =>
      at(worktree, branch => branch.undo(move, { path, lockTimeoutMs })),
  };
}

interface MoveOptions {
  /** File that the move also changes in index and folder. Without it the folder stays unchanged. */
  path?: string;
  /** How long to wait for another git that holds the lock on the index. */
  lockTimeoutMs?: number;
}

interface IndexSwap {
  /** Move of the branch. Null if the branch stays where it is. */
  move: BranchMove | null;
  /** Makes the changes in a copy of the index. */
  build(index: GitIndex): Promise<void>;
  file?: FilePlan | null;
  previous?: PreviousIndex;
  lockTimeoutMs?: number;
}

export interface BranchStatus {
  tip: string;
  /** Tree of the branch's tip. */
  tree: string;
  /** True if the work tree's folder exists and is on this branch. */
  isCheckedOut: boolean;
}

/** How often to start over when the agent's git changes the index while Squad changes a copy of it. */
const SWAP_TRIES = 20;
/** Timeout for the lock of a ref. It is short, because the index is locked meanwhile. */
const REF_LOCK_TIMEOUT_MS = 1000;

/** The branch of a run, and its work tree, in which an agent may be running. */
export class RunBranch {
  readonly worktree: Worktree;
  readonly git: Git;
  readonly ref: string;
  /** False if the folder is missing or replaced. Then git runs in the user's own checkout. */
  readonly hasFolder: boolean;

  private constructor(worktree: Worktree, git: Git, hasFolder: boolean) {
    this.worktree = worktree;
    this.git = git;
    this.ref = `refs/heads/${worktree.branch}`;
    this.hasFolder = hasFolder;
  }

  static async open(worktree: Worktree, env: Environment): Promise<RunBranch> {
    const [own, main] = await Promise.all([openAt(worktree.path, env), openAt(worktree.repository, env)]);
    if (own && (await isLinked(own, main))) return new RunBranch(worktree, own, true);
    if (main) return new RunBranch(worktree, main, false);
    throw new SquadError(
      'WORKTREE_MISSING',
      `Neither the work tree ${worktree.path} nor its repository ${worktree.repository} exists.`,
      { suggestions: ['If the repository was moved, move it back, or run `git worktree repair` in it.'] },
    );
  }

  /**
   * Reads the status with one git process. A symbolic ref is refused: only an agent can have created it, and moving
   * it would move another branch.
   */
  async status(): Promise<BranchStatus> {
    const { branch } = this.worktree;
    const format = '--format=%(objectname)%00%(tree)%00%(HEAD)%00%(symref)';
    const answer = String(await this.git.run(['for-each-ref', format, '--', this.ref])).trim();
    const [tip, tree = '', mark, symref] = answer.split('\0');
    if (symref)
      throw new SquadError('GIT_FAILED', `${branch} is a symbolic ref to ${symref}, not a branch.`, {
        suggestions: [
          `Make it a branch again: \`git symbolic-ref -d ${shellWord(this.ref)}\`, then \`git branch\`.`,
        ],
      });
    if (tip) return { tip, tree, isCheckedOut: this.hasFolder && mark === '*' };
    throw new SquadError('WORKTREE_MISSING', `The branch ${branch} no longer exists.`, {
      suggestions: this.hasFolder
        ? ['`git reflog` in the work tree still lists the commits of the branch.']
        : [],
    });
  }

  tip = async (): Promise<string> => (await this.status()).tip;

  /** The ref that the work tree's HEAD points to. Null for a detached HEAD. */
  head = async (): Promise<string | null> =>
    String(await this.git.run(['symbolic-ref', '-q', 'HEAD'], { codes: [1] })).trim() || null;

  /**
   * Moves the branch from one commit to another, together with the index and the file. A move that was interrupted at
   * any point is finished by applying it again. Until the branch has moved, index and file only have staged changes,
   * and the second attempt gives the same result. After that the index is correct, and only the file may be missing.
   */
  async apply(move: BranchMove, { path, lockTimeoutMs }: MoveOptions): Promise<void> {
    const { tip, isCheckedOut } = await this.status();
    if (tip !== move.from) {
      if (!(await isAncestor(this.git, move.to, tip))) throw this.#moved('it is at another commit');
      if (path !== undefined && isCheckedOut) await this.#finishFile(move, path, tip);
      return;
    }
    if (!isCheckedOut) return this.#moveRef(move);
    if (path === undefined) {
      const operation = gitOperationInProgress(this.git);
      if (operation) throw this.#moved(`${operation} has begun`);
      const previous = new PreviousIndex(this.git, move);
      await this.#swapIndex({ move, build: index => index.reset(move.to), previous, lockTimeoutMs });
      return previous.dropOlder();
    }
    const [file, entry] = await Promise.all([
      planFile(this, move, path, 'apply'),
      entryAt(this.git, move.to, path),
    ]);
    if (file === 'changed') throw this.#moved(`${path} was changed`);
    const build = (index: GitIndex) => index.set([[asBytes(path), entry]]);
    await this.#swapIndex({ move, build, file, lockTimeoutMs });
  }

  /** Undoes a move if the branch is still at the commit that `apply` moved it to. Later changes of the file stay. */
  async undo(move: BranchMove, { path, lockTimeoutMs }: MoveOptions): Promise<void> {
    const { tip, isCheckedOut } = await this.status();
    // If the move was interrupted after the index was replaced, the branch is still at `from`.
    const back = tip === move.to ? reversed(move) : null;
    if (!isCheckedOut) return back ? this.#moveRef(back) : undefined;
    if (!back && tip !== move.from) return;
    if (path === undefined) {
      if (gitOperationInProgress(this.git)) return;
      const previous = new PreviousIndex(this.git, move);
      if (await previous.isKept())
        await this.#swapIndex({ move: back, build: index => previous.restore(index), lockTimeoutMs });
      else if (back)
        await this.#swapIndex({ move: back, build: index => index.reset(move.from), lockTimeoutMs });
      return previous.drop();
    }
    const [was, ours] = await Promise.all([
      entryAt(this.git, move.from, path),
      entryAt(this.git, move.to, path),
    ]);
    const build = async (index: GitIndex) => {
      const [staged] = await index.changesFrom(move.from, path);
      if (staged?.path === asBytes(path) && sameContent(staged.is, ours))
        await index.set([[staged.path, was]]);
    };
    const file = await planFile(this, move, path, 'undo');
    await this.#swapIndex({ move: back, build, file: file === 'changed' ? null : file, lockTimeoutMs });
  }

  /**
   * Replaces the work tree's index by a changed copy, and moves branch and file with it, under git's lock on the
   * index. The copy is made before the lock, so that the agent's git is blocked only briefly. If the index changed
   * meanwhile, everything starts over. The index is replaced before the branch moves: `git commit` reads HEAD before
   * the index, so a commit that sees the new tip also sees the new index. In the other order it would put an old
   * index on the new tip and revert Squad's commit.
   */
  async #swapIndex({ move, build, file, previous, lockTimeoutMs: timeoutMs }: IndexSwap): Promise<void> {
    const { gitDir, root } = this.git.folder;
    const path = indexOf(this.git);
    const tip = move?.from ?? (await this.tip());
    const attempt = async (index: GitIndex): Promise<boolean> => {
      const copied = await index.copy(path, tip);
      await build(index);
      const install = async () => {
        if (!isSameIndex(await readIndex(path), copied)) return false;
        const backup = `${index.file}.kept`;
        if (copied) await linkOrCopy(path, backup);
        const isKept = await previous?.keep();
        await rename(index.file, path);
        try {
          await this.#moveRefAndFile(move, file ?? null);
        } catch (error) {
          if (isKept) await previous?.drop();
          await (copied ? rename(backup, path) : rm(path, { force: true }));
          throw error;
        }
        return true;
      };
      return withIndexLock(gitDir, install, { timeoutMs, ownTree: root });
    };
    for (let tried = 0; tried < SWAP_TRIES; tried++)
      if (await withScratchIndex(this.git, attempt, gitDir)) return;
    throw this.#moved('its index keeps changing');
  }

  async #moveRefAndFile(move: BranchMove | null, file: FilePlan | null): Promise<void> {
    const make = async () => move && this.#moveRef(move);
    if (!file) return void (await make());
    const undo = async () => move && this.#moveRef(reversed(move));
    if (!(await placeFile(this.worktree.path, file, { make, undo })))
      throw this.#moved(`${file.path} was changed`);
  }

  async #moveRef({ from, to }: BranchMove): Promise<void> {
    const args = ['update-ref', '--no-deref', '-m', 'squad', this.ref, to, from];
    try {
      await runWithLockRetry(this.git, args, { env: COMMITTER, timeoutMs: REF_LOCK_TIMEOUT_MS });
    } catch (error) {
      if (error instanceof GitError && error.exitCode !== null && (await this.tip()) !== from)
        throw this.#moved('it is at another commit');
      throw error;
    }
  }

  async #finishFile(move: BranchMove, path: string, tip: string): Promise<void> {
    const [ours, now] = await Promise.all([entryAt(this.git, move.to, path), entryAt(this.git, tip, path)]);
    if (!sameContent(ours, now)) return;
    const plan = await planFile(this, move, path, 'apply');
    // If the file disappeared after the branch had moved on, the agent removed it.
    if (plan === null || plan === 'changed' || (tip !== move.to && plan.seen.kind === 'none')) return;
    await placeFile(this.worktree.path, plan, null);
  }

  #moved(why: string): SquadError {
    const message = `Somebody worked on the branch ${this.worktree.branch} meanwhile: ${why}.`;
    return new SquadError('BRANCH_MOVED', message, { suggestions: ['Nothing was changed. Try again.'] });
  }
}

const reversed = ({ from, to }: BranchMove): BranchMove => ({ from: to, to: from });

async function openAt(folder: string, env: Environment): Promise<Git | null> {
  try {
    const git = await openGit(folder, env);
    // A folder further up may have an unrelated repository.
    return git.folder.root === folder ? git : null;
  } catch (error) {
    if (error instanceof GitError) return null;
    throw error;
  }
}

/** An agent can write the `.git` file in its folder, so that file counts only if it leads to the known repository. */
async function isLinked({ folder }: Git, main: Git | null): Promise<boolean> {
  const [gitDir, common, known] = await Promise.all(
    [folder.gitDir, folder.commonDir, main?.folder.commonDir ?? folder.commonDir].map(path =>
      realpath(path).catch(() => null),
    ),
  );
  return gitDir !== null && common === known && dirname(gitDir!) === join(common!, 'worktrees');
}

const gitFailed = ({ branch }: Worktree, cause: GitError): SquadError =>
  new SquadError('GIT_FAILED', `Git failed on the branch ${branch}: ${cause.message}.`, {
    cause,
    suggestions: ['Fix the problem in the repository, then try again.'],
  });

const PREVIOUS = 'squad-former-';

/**
 * The index from before a move, if it has entries that no commit contains: ignored files that were staged, or files
 * only marked to be added (`git add -N`). It is kept next to the index, named after the new commit, until the move is
 * undone or two later moves are made.
 */
class PreviousIndex {
  readonly #git: Git;
  readonly #move: BranchMove;
  readonly #file: string;

  constructor(git: Git, move: BranchMove) {
    this.#git = git;
    this.#move = move;
    this.#file = join(git.folder.gitDir, `${PREVIOUS}${move.to}`);
  }

  isKept = (): Promise<boolean> =>
    lstat(this.#file).then(
      () => true,
      () => false,
    );

  /**
   * Keeps the index before a move. Call this under git's lock on the index. After a crash the first copy is kept.
   * Returns false if there was nothing to keep.
   */
  async keep(): Promise<boolean> {
    const index = indexOf(this.#git);
    const isNone = ({ code }: NodeJS.ErrnoException) => code === 'EEXIST' || code === 'ENOENT';
    try {
      await linkOrCopy(index, this.#file);
      return true;
    } catch (error) {
      if (isNone(error as NodeJS.ErrnoException)) return false;
      throw error;
    }
  }

  /** Restores the kept index in a copy of the current one. Changes that were staged after the move stay. */
  async restore(index: GitIndex): Promise<void> {
    const since = await index.changesFrom(this.#move.to);
    await index.copy(this.#file, this.#move.from);
    await index.set(since.map(({ path, is }) => [path, is] as const));
  }

  drop = (): Promise<void> => rm(this.#file, { force: true });

  /** Only the last two moves can still be undone, so older copies are deleted. */
  async dropOlder(): Promise<void> {
    const { gitDir } = this.#git.folder;
    const stay = [this.#move.to, this.#move.from].map(commit => `${PREVIOUS}${commit}`);
    for (const name of await readdir(gitDir))
      if (name.startsWith(PREVIOUS) && !stay.includes(name)) await rm(join(gitDir, name), { force: true });
  }
}
