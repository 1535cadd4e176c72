import { lstat, utimes } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SquadError } from '../../schema/error.ts';
import type { BranchMove } from '../../schema/review.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { eachOf, statWorkFile } from '../files/file-stamp.ts';
import { joinPaths, pathBytes, pathText } from '../files/paths.ts';
import { COMMITTER, commitTree, submodulePaths, type TreeChange } from '../git/commits.ts';
import { type Environment, GitError } from '../git/git.ts';
import { gitOperationInProgress } from '../git/git-folder.ts';
import { type GitIndex, indexOf, isSameIndex, readIndex, withScratchIndex } from '../git/git-index.ts';
import { readStatus, userExcludes } from '../git/git-status.ts';
import type { BranchStatus, RunBranch } from './run-branch.ts';
import { readUnsaved } from './save-work.ts';
import { copiedPaths } from './worktree-place.ts';

/** Git gives up on a file that an agent is just writing, so staging is retried. */
const MAX_TRIES = 4;
/** Timeout for staging, even of many or large files. */
const STAGE_TIMEOUT_MS = 180_000;
const DAY_SECONDS = 86_400;
/** Maximum size of a new file. Larger files are probably not meant to be committed, and most Git hosts refuse them. */
const MAX_NEW_BYTES = 100 * 1024 * 1024;
const MAX_NAMED = 5;

/** Prepares a commit of all uncommitted work on the tip. No ref points to it yet. Null if there is no such work. */
export async function prepareAll(
  branch: RunBranch,
  message: string,
  env: Environment,
): Promise<BranchMove | null> {
  if (!branch.hasFolder) throw missing(branch);
  for (let tried = 1; ; tried++) {
    try {
      const how = { message, env, isTipFirst: tried > 1 };
      const move = await withScratchIndex(branch.git, index => commitAll(branch, index, how));
      if (move === 'again') continue;
      await refuseHidden(branch);
      return move;
    } catch (error) {
      if (!(error instanceof GitError) || error.exitCode === null) throw error;
      if (tried === MAX_TRIES)
        throw uncommittable(branch, error.said.split('\n')[0]?.slice(0, 300) || error.message);
    }
  }
}

interface CommitOptions {
  message: string;
  env: Environment;
  /** True to read the tip before the folder. Otherwise both are read in parallel. */
  isTipFirst: boolean;
}

async function commitAll(
  branch: RunBranch,
  index: GitIndex,
  { message, env, isTipFirst }: CommitOptions,
): Promise<BranchMove | 'again' | null> {
  const { git } = branch;
  const operation = gitOperationInProgress(git);
  if (operation)
    throw uncommittable(branch, `${operation} is under way`, [], 'Finish or abort it, then try again.');
  const before = isTipFirst ? await branch.status() : null;
  const [excludes, copies, copied] = await Promise.all([
    userExcludes(git, env),
    copiedPaths(git.folder.gitDir),
    index.copy(indexOf(git), async () => (before ?? (await branch.status())).tip),
  ]);
  const found = findUnstaged(branch, index, excludes, copies);
  const files = found.then(unstaged => committableFiles(branch, unstaged));
  const status = before ? Promise.resolve(before) : branch.status();
  // A caller waits for the commit, so it is prepared while git still searches the folder. A commit that is refused later
  // leaves nothing behind but an object that no ref points to.
  const made = status.then(async at => {
    // Staging waits until the sizes are known, because git would copy a file that is too large into the repository.
    await stage(
      index,
      files.then(() => found),
    );
    return commitStaged(branch, index, { status: at, copies, message, ...(await found) });
  });
  const checked = status.then(() => refuseFiltered(branch, index, files));
  await Promise.allSettled([found, files, made, checked]);
  if (!(await status).isCheckedOut) throw await notOnBranch(branch);
  // If the agent has changed its index meanwhile, this copy is outdated. A commit made from it would revert files.
  if (!before && !isSameIndex(await readIndex(indexOf(git)), copied)) return 'again';
  await found;
  await checked;
  return made;
}

interface Unstaged {
  changed: string[];
  /** Paths that are gone because a link has replaced their folder. */
  replaced: string[];
  isNew: string[];
  /** True if a submodule, or an entry that would become one, differs from the last commit. */
  hasSubmodules: boolean;
}

/** Finds where the folder differs from the index. A submodule differs when it is at another commit. */
async function findUnstaged(
  branch: RunBranch,
  { git, file }: GitIndex,
  excludes: string[],
  copies: ReadonlySet<string>,
): Promise<Unstaged> {
  const env = { ...COMMITTER, GIT_INDEX_FILE: file };
  const { entries } = await readStatus(git, { env, limitMs: STAGE_TIMEOUT_MS }, excludes);
  const unmerged = entries.filter(({ isUnmerged }) => isUnmerged).map(({ path }) => path);
  if (unmerged.length > 0) throw uncommittable(branch, 'there are conflicts in it', unmerged);
  const work = entries.filter(({ path }) => !copies.has(path));
  const isNew = work.filter(({ isUntracked }) => isUntracked).map(({ path }) => path);
  const changes = work.filter(({ inFolder }) => inFolder !== '.');
  const deleted = changes.filter(({ inFolder }) => inFolder === 'D').map(({ path }) => path);
  const replaced = await pathsBeyondLinks(git.folder.root, deleted);
  const changed = changes.map(({ path }) => path).filter(path => !replaced.has(path));
  const hasSubmodules = entries.some(({ isSubmodule }) => isSubmodule);
  return { changed, replaced: [...replaced], isNew, hasSubmodules };
}

/**
 * Paths whose folder is now a link. Files behind the link do not belong to the work tree, and git refuses to stage
 * them.
 */
async function pathsBeyondLinks(root: string, paths: string[]): Promise<Set<string>> {
  const known = new Map<string, boolean>([['.', false]]);
  const isBeyond = async (folder: string): Promise<boolean> => {
    if (!known.has(folder)) {
      const isLink =
        (await isBeyond(dirname(folder))) || !!(await statWorkFile(root, folder))?.isSymbolicLink();
      known.set(folder, isLink);
    }
    return known.get(folder)!;
  };
  const beyond = new Set<string>();
  for (const path of paths) if (await isBeyond(dirname(path))) beyond.add(path);
  return beyond;
}

/**
 * Stages the files. Git starts before the list is complete. `git add` is not used, because it runs git in submodules
 * with their own configuration.
 */
async function stage(index: GitIndex, found: Promise<Unstaged>): Promise<void> {
  const add = (list: Buffer | Promise<Buffer>) =>
    index.run(
      ['update-index', '--add', '--remove', '--replace', '-z', '--stdin'],
      list,
      2 * STAGE_TIMEOUT_MS,
    );
  const list = ({ changed, isNew }: Unstaged) => joinPaths([...changed, ...isNew]);
  await add(found.then(unstaged => (unstaged.replaced.length > 0 ? Buffer.alloc(0) : list(unstaged))));
  const unstaged = await found;
  if (unstaged.replaced.length === 0) return;
  await index.set(unstaged.replaced.map(path => [path, null] as const));
  await add(list(unstaged));
}

interface Staged {
  status: BranchStatus;
  copies: ReadonlySet<string>;
  hasSubmodules: boolean;
  message: string;
}

async function commitStaged(
  branch: RunBranch,
  index: GitIndex,
  { status: { tip, tree: tipTree }, copies, hasSubmodules, message }: Staged,
): Promise<BranchMove | null> {
  if (copies.size > 0 || hasSubmodules) {
    const changes = await index.changesFrom(tip);
    const copied = changes.filter(({ path }) => copies.has(path));
    await index.set(copied.map(({ path, was }) => [path, was] as const));
    await refuseNewSubmodules(branch, index, changes);
  }
  // Git reads all files that are not older than the index before it writes the index. This temporary index gets a time
  // in the future, so git reads none.
  const later = Date.now() / 1000 + DAY_SECONDS;
  await utimes(index.file, later, later);
  const tree = await index.writeTree();
  return tree === tipTree ? null : { from: tip, to: await commitTree(branch.git, tree, [tip], message) };
}

/** Refuses files that should not be committed. Returns the regular files, because git filters apply only to them. */
async function committableFiles(branch: RunBranch, { changed, isNew }: Unstaged): Promise<string[]> {
  const repositories = isNew.filter(path => path.endsWith('/'));
  if (repositories.length > 0) throw embedded(branch, repositories);
  const paths = [...changed, ...isNew];
  const { path: root } = branch.worktree;
  const infos = await eachOf(paths, path => lstat(pathBytes(root, path)).catch(() => null), 64);
  const sizes = new Map(paths.flatMap((path, at) => (infos[at]?.isFile() ? [[path, infos[at].size]] : [])));
  const huge = isNew.filter(path => (sizes.get(path) ?? 0) > MAX_NEW_BYTES);
  if (huge.length > 0)
    throw uncommittable(
      branch,
      `new files are larger than ${MAX_NEW_BYTES / 1024 / 1024} MiB`,
      huge,
      'Add them to .gitignore, or commit them yourself, then try again.',
    );
  return [...sizes.keys()];
}

/** Refuses files with a filter: the agent's own git would run the filter and commit different content. */
async function refuseFiltered(branch: RunBranch, index: GitIndex, files: Promise<string[]>): Promise<void> {
  const filtered = index.filteredPaths(files);
  await Promise.allSettled([files, filtered]);
  await files;
  if ((await filtered).length > 0)
    throw uncommittable(
      branch,
      'a filter such as Git LFS belongs to changed files, and Squad runs none',
      await filtered,
      'Commit these yourself, with your own git, then try again.',
    );
}

/**
 * Refuses a nested repository that was added like a submodule: the commit would refer to a commit that nobody else
 * has.
 */
async function refuseNewSubmodules(branch: RunBranch, index: GitIndex, changes: TreeChange[]): Promise<void> {
  const added = changes.filter(({ was, is }) => is?.mode === '160000' && was?.mode !== '160000');
  if (added.length === 0) return;
  const known = new Set(await submodulePaths(branch.git, await index.writeTree()));
  const unknown = added.map(({ path }) => path).filter(path => !known.has(path));
  if (unknown.length > 0) throw embedded(branch, unknown);
}

/** Refuses if git is set to hide changes, because a commit without them would look complete. */
async function refuseHidden(branch: RunBranch): Promise<void> {
  const [{ entries }, shown] = await Promise.all([readUnsaved(branch.git), readStatus(branch.git)]);
  const known = new Set(shown.entries.map(({ path }) => path));
  const hidden = entries.map(({ path }) => path).filter(path => !known.has(path));
  if (hidden.length === 0) return;
  throw uncommittable(
    branch,
    'git is set to hide it (assume-unchanged, skip-worktree or an ignore rule)',
    hidden,
    'Run `git update-index --no-assume-unchanged --no-skip-worktree PATH`, or remove the ignore rule, then try again.',
  );
}

function uncommittable(
  { worktree }: RunBranch,
  why: string,
  paths: string[] = [],
  next = 'Fix the problem in the work tree, then try again.',
): SquadError {
  const names = paths.slice(0, MAX_NAMED).map(path => pathText(path).slice(0, 200));
  const more = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : '';
  const list = names.length > 0 ? `: ${names.join(', ')}${more}` : '';
  const message = `The work in ${worktree.path} cannot be committed: ${why}${list}.`;
  return new SquadError('UNCOMMITTABLE', message, { suggestions: [next] });
}

const embedded = (branch: RunBranch, paths: string[]): SquadError =>
  uncommittable(
    branch,
    'there is a git repository inside',
    paths,
    'Move it away, add it to .gitignore, or make it a submodule; then try again.',
  );

async function notOnBranch(branch: RunBranch): Promise<SquadError> {
  const { branch: name } = branch.worktree;
  const head = await branch.head();
  const where = head ? `the branch ${head.replace('refs/heads/', '')}` : 'no branch';
  return uncommittable(
    branch,
    `it is on ${where}, not on ${name}`,
    [],
    `Go back with \`git switch ${shellWord(name)}\` (bring commits made elsewhere along with \`git merge\`), then try again.`,
  );
}

const missing = ({ worktree }: RunBranch): SquadError =>
  new SquadError('WORKTREE_MISSING', `The work tree ${worktree.path} was removed or replaced.`, {
    suggestions: [`Committed work is on the branch ${worktree.branch}.`],
  });
