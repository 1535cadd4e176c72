import { relative } from 'node:path';
import type { ChangedFile, DirtyFile, WorkSnapshot } from '../../schema/work.ts';
import { eachOf, hashWorkFile, stampOf, statWorkFile } from '../files/file-stamp.ts';
import { pathText } from '../files/path-text.ts';
import { type Git, GitTrouble } from '../git/git.ts';
import type { Status } from '../git/git-status.ts';
import { hiddenIgnoreFiles, readStatusUnder } from '../git/ignore-rules.ts';
import { type TrackedChange, trackedChanges } from '../git/tracked-changes.ts';
import { withoutTeamFiles } from '../team/team-file.ts';
import { withHonestIndex } from '../worktrees/worktree-index.ts';

/** A file that is not what it was at the snapshot. */
export interface Difference {
  path: string;
  status: ChangedFile['status'];
  /** It had uncommitted changes before, or was hidden from git: what it held then is not known. */
  wasDirty: boolean;
  /** Git has no content to compare it with. */
  isUntracked: boolean;
  /** Null for binary content and for what git cannot compare. */
  lines: TrackedChange['lines'];
}

export interface Compared {
  files: Difference[];
  status: Status;
  /** What git compares with: the commit before the run, or the empty tree when there was none. */
  base: string;
  /** Why lines could not be counted; null when they were. */
  uncounted: string | null;
  /** Where git finds the index that was compared: one in which no file is hidden. */
  env: { GIT_INDEX_FILE: string };
  /** What cannot be told from the files. */
  notes: string[];
}

const LARGEST_HASHED = 4n * 1024n * 1024n;
const MAX_NAMED = 3;

/** `use` may ask git about the same index, which is gone afterwards. */
export const withComparison = <T>(
  git: Git,
  before: WorkSnapshot,
  workspace: string | undefined,
  use: (compared: Compared) => Promise<T>,
): Promise<T> =>
  withHonestIndex(git, async ({ index, keptOut }) => {
    const env = { GIT_INDEX_FILE: index.file };
    const [compared, ignoring] = await Promise.all([
      compare(git, before, workspace, env),
      hiddenIgnoreFiles(git, before.takenAt, { env }),
    ]);
    return use({ ...compared, notes: [...hiddenNotes(before, keptOut), ...ignoringNotes(ignoring)] });
  });

/**
 * Files that were clean are compared with the commit of then, whatever became of HEAD since, so that committed or not
 * makes no difference; files that were dirty are compared with their own stamp and content of then.
 */
async function compare(
  git: Git,
  before: WorkSnapshot,
  workspace: string | undefined,
  env: Compared['env'],
): Promise<Omit<Compared, 'notes'>> {
  if (git.folder.root !== before.root) throw new GitTrouble('the repository of then is not there any more');
  const base = before.head ?? (await emptyTree(git));
  const [status, { byPath: tracked, uncounted }] = await Promise.all([
    readStatusUnder(git, before.ignoreRules, { env }),
    trackedChanges(git, base, { env }),
  ]);
  const untracked = new Set(status.entries.filter(each => each.isUntracked).map(({ path }) => path));
  const dirty = new Map(before.dirty.map(file => [file.path, file]));

  const listed = new Set(status.entries.map(({ path }) => path));
  // While HEAD stands still, what status does not list has another date and nothing else.
  const isReal = (path: string) => status.head !== before.head || listed.has(path);

  const fromClean = [...tracked.values()]
    .filter(({ path }) => !dirty.has(path) && isReal(path))
    .map(asDifference);
  const added = [...untracked].filter(path => !dirty.has(path) && !tracked.has(path)).map(asNewFile);
  const again = await eachOf(before.dirty, file => changedAgain(git.folder.root, file));
  const fromDirty = again
    .filter(each => each !== null)
    .map(each => ({ ...each, isUntracked: untracked.has(each.path) || !tracked.has(each.path) }));
  const all = [...fromClean, ...added, ...fromDirty];
  const files = workspace === undefined ? all : withoutTeamFiles(all, relative(git.folder.root, workspace));
  return { files, status, base, uncounted, env };
}

function hiddenNotes({ ignoreRules, keptOut: before }: WorkSnapshot, now: number): string[] {
  const more = before === null ? 0 : now - before;
  const rules = 'the ignore rules before the run are not known: new files that they hide now are not counted';
  const files = `${more} ${more === 1 ? 'file is' : 'files are'} kept out of the folder (skip-worktree) since the run began, and not counted`;
  return [...(ignoreRules === null ? [rules] : []), ...(more > 0 ? [files] : [])];
}

function ignoringNotes(paths: readonly string[]): string[] {
  if (paths.length === 0) return [];
  const named = [...paths.slice(0, MAX_NAMED).map(pathText), ...(paths.length > MAX_NAMED ? ['…'] : [])].join(
    ', ',
  );
  return [
    paths.length === 1
      ? `1 new or changed .gitignore file is itself ignored (${named}): new files that it hides are not counted`
      : `${paths.length} new or changed .gitignore files are themselves ignored (${named}): new files that they hide are not counted`,
  ];
}

const emptyTree = async (git: Git): Promise<string> =>
  String(await git.run(['hash-object', '-t', 'tree', '/dev/null'])).trim();

const asDifference = ({ path, status, lines }: TrackedChange): Difference => ({
  path,
  status,
  lines,
  wasDirty: false,
  isUntracked: false,
});

const asNewFile = (path: string): Difference => ({
  path,
  status: 'A',
  wasDirty: false,
  isUntracked: true,
  lines: null,
});

/** Null for one that nobody touched, or that holds again what it held. */
async function changedAgain(
  root: string,
  before: DirtyFile,
): Promise<Omit<Difference, 'isUntracked'> | null> {
  const stat = await statWorkFile(root, before.path);
  const stamp = stat && stampOf(stat);
  if (stamp === before.stamp) return null;
  const canCompare = stat && before.hash !== null && stat.size <= LARGEST_HASHED;
  if (canCompare && (await hashWorkFile(root, before.path, stat)) === before.hash) return null;
  const status = before.stamp === null ? 'A' : stamp === null ? 'D' : 'M';
  return { path: before.path, status, wasDirty: true, lines: null };
}
