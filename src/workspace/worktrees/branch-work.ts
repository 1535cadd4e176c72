import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { SquadError } from '../../schema/error.ts';
import type { BranchMove } from '../../schema/review.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { GitError } from '../git/git.ts';
import { copyIndex, isSameIndex, readIndex } from '../git/git-index.ts';
import { readStatus } from '../git/git-status.ts';
import { type Change, type ScratchIndex, withScratchIndex } from './branch-commit.ts';
import {
  type BranchPlace,
  gitOperationInProgress,
  headOf,
  type Standing,
  standingOf,
} from './branch-place.ts';
import {
  checkLinks,
  checkUnstaged,
  fittingFiles,
  ignoredByUser,
  STAGE_MS,
  type Unstaged,
  uncommittable,
  unstagedPaths,
} from './committable.ts';
import { copiedPaths } from './worktree-place.ts';
import { readUnsaved } from './worktree-save.ts';

/** An agent that writes while its files are read makes git give up on one. */
const TRIES = 4;
const DAY_SECONDS = 86_400;

type Environment = Record<string, string | undefined>;

/** Everything that is not committed, as a commit on the tip that nothing points to yet. */
export async function prepareAll(
  place: BranchPlace,
  message: string,
  env: Environment,
): Promise<BranchMove | null> {
  if (!place.hasFolder) throw missing(place);
  for (let tried = 1; ; tried++) {
    try {
      const how = { message, env, isTipFirst: tried > 1 };
      const move = await withScratchIndex(place.git, index => commitAll(place, index, how));
      if (move === 'again') continue;
      await refuseHidden(place);
      return move;
    } catch (thrown) {
      if (!(thrown instanceof GitError) || thrown.exitCode === null) throw thrown;
      if (tried === TRIES)
        throw uncommittable(place, thrown.said.split('\n')[0]?.slice(0, 300) || thrown.message);
    }
  }
}

interface How {
  message: string;
  env: Environment;
  /** Not beside the look at the folder. */
  isTipFirst: boolean;
}

async function commitAll(
  place: BranchPlace,
  index: ScratchIndex,
  { message, env, isTipFirst }: How,
): Promise<BranchMove | 'again' | null> {
  const { gitDir, root } = place.git.folder;
  const file = join(gitDir, 'index');
  refuseUnderWay(place);
  const before = isTipFirst ? await standingOf(place) : null;
  const [ignored, copies, copied] = await Promise.all([
    ignoredByUser(place.git, env),
    copiedPaths(gitDir),
    copyIndex(file, index, async () => (before ?? (await standingOf(place))).tip),
  ]);
  const found = unstagedPaths(index, root, ignored).then(unstaged => workIn(place, unstaged, copies));
  const files = found.then(paths => fittingFiles(place, paths));
  const standing = before ? Promise.resolve(before) : standingOf(place);
  // Begun while git looks at the folder, because somebody waits: nothing points to what is made, should it be refused.
  const made = standing.then(async at => {
    // Not before the sizes are known: git would copy a file that is too large into the repository.
    await stage(
      index,
      files.then(() => found),
    );
    return commitStaged(place, index, { standing: at, copies, message, ...(await found) });
  });
  const checked = standing.then(() => checkUnstaged(place, index, files));
  await Promise.allSettled([found, files, made, checked]);
  if (!(await standing).isCheckedOut) throw await elsewhere(place);
  // On a tip that is younger, an index would take back what it keeps out of the folder.
  if (!before && !isSameIndex(await readIndex(file), copied)) return 'again';
  await found;
  await checked;
  return made;
}

function workIn(place: BranchPlace, unstaged: Unstaged, copies: ReadonlySet<string>): Unstaged {
  if (unstaged.unmerged.length > 0)
    throw uncommittable(place, 'there are conflicts in it', unstaged.unmerged);
  const isWork = (path: string) => !copies.has(path);
  const [changed, isNew, replaced] = [unstaged.changed, unstaged.isNew, unstaged.replaced].map(paths =>
    paths.filter(isWork),
  );
  return { ...unstaged, changed: changed!, isNew: isNew!, replaced: replaced! };
}

/** Git is started before it is known what for. Not `git add`, which starts one in submodules, with a configuration that is theirs. */
async function stage(index: ScratchIndex, found: Promise<Unstaged>): Promise<void> {
  const add = (list: Buffer | Promise<Buffer>) =>
    index.run(['update-index', '--add', '--remove', '--replace', '-z', '--stdin'], list, 2 * STAGE_MS);
  const list = ({ changed, isNew }: Unstaged) =>
    Buffer.from([...changed, ...isNew].map(path => `${path}\0`).join(''), 'latin1');
  await add(found.then(paths => (paths.replaced.length > 0 ? NOTHING : list(paths))));
  const paths = await found;
  if (paths.replaced.length === 0) return;
  await index.set(paths.replaced.map(path => [path, null] as const));
  await add(list(paths));
}

const NOTHING = Buffer.alloc(0);

interface Staged {
  standing: Standing;
  copies: ReadonlySet<string>;
  hasLinks: boolean;
  message: string;
}

async function commitStaged(
  place: BranchPlace,
  index: ScratchIndex,
  { standing: { tip, tree }, copies, hasLinks, message }: Staged,
): Promise<BranchMove | null> {
  if (copies.size > 0 || hasLinks) {
    const changes = await index.changes('diff-index', '--cached', tip);
    const copied = changes.filter(({ path }) => copies.has(path));
    await index.set(copied.map(({ path, was }): [string, Change['was']] => [path, was]));
    await checkLinks(place, index, changes);
  }
  // Git looks into all files that are as young as an index before it writes that anew. This one is thrown away.
  const later = Date.now() / 1000 + DAY_SECONDS;
  await utimes(index.file, later, later);
  const whole = await index.writeTree();
  return whole === tree ? null : { from: tip, to: await index.commitTree(whole, tip, message) };
}

/** A commit without the changes that git was told not to show would pass for all of the work. */
async function refuseHidden(place: BranchPlace): Promise<void> {
  const [{ entries }, shown] = await Promise.all([readUnsaved(place.git), readStatus(place.git)]);
  const known = new Set(shown.entries.map(({ path }) => path));
  const hidden = entries.map(({ path }) => path).filter(path => !known.has(path));
  if (hidden.length === 0) return;
  throw uncommittable(
    place,
    'git was told not to show it (assume-unchanged, skip-worktree or an ignore rule)',
    hidden,
    'Run `git update-index --no-assume-unchanged --no-skip-worktree PATH`, or remove the ignore rule, then try again.',
  );
}

function refuseUnderWay(place: BranchPlace): void {
  const doing = gitOperationInProgress(place);
  if (doing)
    throw uncommittable(place, `${doing} is under way`, [], 'Finish it or give it up, then try again.');
}

async function elsewhere(place: BranchPlace): Promise<SquadError> {
  const { branch } = place.worktree;
  const head = await headOf(place);
  const where = head ? `the branch ${head.replace('refs/heads/', '')}` : 'no branch';
  return uncommittable(
    place,
    `it is on ${where}, not on ${branch}`,
    [],
    `Go back with \`git switch ${shellWord(branch)}\` (commits made elsewhere come along with \`git merge\`), then try again.`,
  );
}

const missing = ({ worktree }: BranchPlace): SquadError =>
  new SquadError(
    'WORKTREE_MISSING',
    `The work tree ${worktree.path} is not there any more, or is another one.`,
    {
      suggestions: [`What was committed is on the branch ${worktree.branch}.`],
    },
  );
