import { dirname, join } from 'node:path';
import { SquadError } from '../schema/error.ts';
import type { BranchMove } from '../schema/intent.ts';
import { type Change, type ScratchIndex, withScratchIndex } from './branch-commit.ts';
import { type BranchPlace, headOf, tipOf, underWay } from './branch-place.ts';
import { checkLinks, checkUnstaged, uncommittable } from './committable.ts';
import { GitTrouble } from './git.ts';
import { copyIndex } from './index-copy.ts';
import { ignoredByUser } from './user-excludes.ts';
import { statWorkFile } from './work-file.ts';
import { copiedPaths } from './worktree-place.ts';

/** An agent that writes while its files are read makes git give up on one. */
const TRIES = 4;
/** Many files, or large ones. */
const STAGE_MS = 180_000;

/** Everything that is not committed, as a commit on the tip that nothing points to yet. */
export async function prepareAll(
  place: BranchPlace,
  message: string,
  env: Record<string, string | undefined>,
): Promise<BranchMove | null> {
  if (!place.hasFolder) throw missing(place);
  for (let tried = 1; ; tried++) {
    try {
      return await withScratchIndex(place.git, index => commitAll(place, index, message, env));
    } catch (thrown) {
      if (!(thrown instanceof GitTrouble) || thrown.exitCode === null) throw thrown;
      if (tried === TRIES)
        throw uncommittable(place, thrown.said.split('\n')[0]?.slice(0, 300) || thrown.message);
    }
  }
}

async function commitAll(
  place: BranchPlace,
  index: ScratchIndex,
  message: string,
  env: Record<string, string | undefined>,
): Promise<BranchMove | null> {
  const { git } = place;
  const [tip, ignored, copies] = await Promise.all([
    tipOf(place),
    ignoredByUser(git, env),
    copiedPaths(git.folder.gitDir),
    checkState(place),
  ]);
  await copyIndex(join(git.folder.gitDir, 'index'), index, tip);
  const isWork = (path: string) => !copies.has(path);
  const { unmerged, ...unstaged } = await unstagedPaths(index, git.folder.root, ignored);
  if (unmerged.length > 0) throw uncommittable(place, 'there are conflicts in it', unmerged);
  const paths = {
    changed: unstaged.changed.filter(isWork),
    isNew: unstaged.isNew.filter(isWork),
  };
  const replaced = unstaged.replaced.filter(isWork);
  // Side by side, because somebody waits for every git: what is refused is refused before anything comes of the other.
  const [check, staging] = await Promise.allSettled([
    checkUnstaged(place, index, paths),
    stage(index, replaced, [...paths.changed, ...paths.isNew]),
  ]);
  if (check.status === 'rejected') throw check.reason;
  if (staging.status === 'rejected') throw staging.reason;

  const [changes, whole] = await Promise.all([
    index.changes('diff-index', '--cached', tip),
    index.writeTree(),
  ]);
  const copied = changes.filter(({ path }) => copies.has(path));
  if (changes.length === copied.length) return null;
  await index.set(copied.map(({ path, was }): [string, Change['was']] => [path, was]));
  await checkLinks(place, index, changes);
  const tree = copied.length > 0 ? await index.writeTree() : whole;
  return { from: tip, to: await index.commitTree(tree, tip, message) };
}

/** Not `git add`, which starts a git in submodules, with a configuration that is theirs. */
async function stage(index: ScratchIndex, replaced: string[], paths: string[]): Promise<void> {
  await index.set(replaced.map(path => [path, null] as const));
  if (paths.length === 0) return;
  const list = Buffer.from(paths.map(path => `${path}\0`).join(''), 'latin1');
  await index.run(['update-index', '--add', '--remove', '--replace', '-z', '--stdin'], list, STAGE_MS);
}

interface Unstaged {
  unmerged: string[];
  changed: string[];
  /** Gone with the folder they were in, where a link is now. */
  replaced: string[];
  isNew: string[];
}

/** Where the folder is not as the index has it. Submodules count when they are at another commit. */
async function unstagedPaths(index: ScratchIndex, root: string, ignored: string[]): Promise<Unstaged> {
  const output = await index.run([...ignored, ...STATUS], undefined, STAGE_MS);
  const found = split(output).map(entryOf);
  const unmerged = found.filter(({ kind }) => kind === 'u').map(({ path }) => path);
  const isNew = found.filter(({ kind }) => kind === '?').map(({ path }) => path);
  const changes = found.filter(({ kind, folder }) => kind === '1' && folder !== '.');
  const replaced = await beyondLinks(
    root,
    changes.filter(({ folder }) => folder === 'D').map(({ path }) => path),
  );
  const changed = changes.map(({ path }) => path).filter(path => !replaced.has(path));
  return { unmerged, changed, replaced: [...replaced], isNew };
}

/** Paths whose folder is a link by now. What lies beyond it is not theirs, and git will not stage it. */
async function beyondLinks(root: string, paths: string[]): Promise<Set<string>> {
  const isLink = new Map<string, boolean>();
  const isBeyond = async (folder: string): Promise<boolean> => {
    if (folder === '.') return false;
    const known = isLink.get(folder);
    if (known !== undefined) return known;
    const found = (await isBeyond(dirname(folder))) || !!(await statWorkFile(root, folder))?.isSymbolicLink();
    isLink.set(folder, found);
    return found;
  };
  const beyond = new Set<string>();
  for (const path of paths) if (await isBeyond(dirname(path))) beyond.add(path);
  return beyond;
}

async function checkState(place: BranchPlace): Promise<void> {
  const { ref, worktree } = place;
  const doing = underWay(place);
  if (doing)
    throw uncommittable(place, `${doing} is under way`, [], 'Finish it or give it up, then try again.');
  const head = await headOf(place);
  if (head === ref) return;
  const where = head ? `the branch ${head.replace('refs/heads/', '')}` : 'no branch';
  throw uncommittable(
    place,
    `it is on ${where}, not on ${worktree.branch}`,
    [],
    `Go back with \`git switch ${worktree.branch}\` (commits made elsewhere come along with \`git merge\`), then try again.`,
  );
}

/** One git tells all of it: conflicts, what differs, what is new. */
const STATUS = [
  ...['status', '--porcelain=v2', '-z', '--untracked-files=all', '--no-renames'],
  ...['--ignore-submodules=dirty', '--no-ahead-behind'],
];
/** How many fields come before the path. */
const FIELDS: Record<string, number> = { '1': 8, u: 10, '?': 1 };

/** `1 .M N... 100644 100644 100644 1234… 5678… path`, `u UU …`, `? path`; `folder`: how the file is there. */
function entryOf(line: string): { kind: string; folder: string; path: string } {
  const kind = line[0] ?? '';
  let at = 0;
  for (let fields = FIELDS[kind] ?? 0; fields > 0; fields--) at = line.indexOf(' ', at) + 1;
  return { kind, folder: line[3] ?? '.', path: line.slice(at) };
}

const split = (output: Buffer): string[] =>
  output
    .toString('latin1')
    .split('\0')
    .filter(path => path !== '');

const missing = ({ worktree }: BranchPlace): SquadError =>
  new SquadError(
    'WORKTREE_MISSING',
    `The work tree ${worktree.path} is not there any more, or is another one.`,
    {
      suggestions: [`What was committed is on the branch ${worktree.branch}.`],
    },
  );
