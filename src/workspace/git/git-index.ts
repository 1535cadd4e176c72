import { constants } from 'node:fs';
import { lstat, mkdtemp, open, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eachOf, statWorkFile } from '../files/file-stamp.ts';
import { joinPaths, splitPaths } from '../files/paths.ts';
import {
  COMMITTER,
  commitTree,
  outputLine,
  parseRawDiff,
  type TreeChange,
  type TreeEntry,
} from './commits.ts';
import { type Git, GitError, type GitRun, ignoreExitOne } from './git.ts';

// Paths are strings with one character per byte.

interface IndexEntry {
  /** Flag letter of git. A lower-case letter means assume-unchanged, S means skip-worktree. */
  tag: string;
  mode: string;
  path: string;
}

/** Files that git does not check because of flags in the index. */
export interface HiddenFiles {
  /** Files marked assume-unchanged. */
  assumed: string[];
  /** Files marked skip-worktree that exist in the folder anyway. */
  skipped: string[];
  /** Files marked skip-worktree that are not in the folder, as in a sparse checkout. */
  absent: Set<string>;
  /** Submodules, whose content git does not report. */
  links: string[];
}

/** Timeout for refreshing an index. Git reads all files again that were replaced, which can take long. */
const REFRESH_TIMEOUT_MS = 120_000;
const LIST_TIMEOUT_MS = 300_000;
const MAX_LIST_BYTES = 400 * 1024 * 1024;

/** Overrides settings of the repository that may make git overlook changes. */
const THOROUGH = ['-c', 'core.trustctime=true', '-c', 'core.checkStat=default'];

/**
 * An index file (`GIT_INDEX_FILE`). Squad makes commits in a scratch index, without touching the agent's or the
 * user's.
 */
export class GitIndex {
  readonly file: string;
  readonly git: Git;

  constructor(git: Git, file: string) {
    this.file = file;
    this.git = git;
  }

  run(args: string[], input?: GitRun['input'], limitMs?: number): Promise<Buffer> {
    return this.#run(args, { input, limitMs });
  }

  #run(args: string[], how: GitRun): Promise<Buffer> {
    const env = { ...COMMITTER, GIT_INDEX_FILE: this.file };
    return this.git.run(['-c', 'core.splitIndex=false', ...args], { ...how, env });
  }

  /**
   * Makes this a copy of the index at `from`, or of the commit `tip` if there is no index. Returns the copied index.
   */
  async copy(from: string, tip?: string | (() => Promise<string>)): Promise<IndexFile | null> {
    const found = await readIndex(from);
    if (!found) {
      if (tip) await this.run(['read-tree', typeof tip === 'string' ? tip : await tip()]);
      return null;
    }
    await rm(this.file, { force: true });
    const file = await open(this.file, 'wx', 0o600);
    await file.writeFile(found.bytes).finally(() => file.close());
    // Git reads files again that are not older than the index. Therefore the copy must not be newer than its source.
    const seconds = Number(found.mtimeNs - 1000n) / 1e9;
    await utimes(this.file, seconds, seconds);
    return found;
  }

  /** Sets entries. Null removes the path. Either way a conflict at the path is resolved. */
  async set(entries: readonly (readonly [path: string, entry: TreeEntry | null])[]): Promise<void> {
    const removed = entries.flatMap(([path, entry]) => (entry ? [] : [path]));
    const added = entries.flatMap(([path, entry]) => (entry ? [`${entry.mode} ${entry.oid}\t${path}`] : []));
    await this.#update(['--force-remove', '-z', '--stdin'], removed);
    await this.#update(['--add', '--replace', '-z', '--index-info'], added);
  }

  async #update(args: string[], lines: readonly string[]): Promise<void> {
    if (lines.length > 0) await this.run(['update-index', ...args], joinPaths(lines), LIST_TIMEOUT_MS);
  }

  /** Entries of the index that differ from the commit. */
  async changesFrom(commit: string, ...paths: string[]): Promise<TreeChange[]> {
    const args = ['diff-index', '--cached', '--raw', '-z', '--no-renames', '--no-abbrev', commit];
    return parseRawDiff(await this.run([...args, '--', ...paths]));
  }

  /**
   * Paths whose file differs from the index. With `commit`, also paths whose index entry differs from that commit.
   * `folder` replaces the work tree.
   */
  async changedPaths({ commit, folder }: { commit?: string; folder?: string } = {}): Promise<Set<string>> {
    const options = [...THOROUGH, ...(folder === undefined ? [] : [`--work-tree=${folder}`])];
    await this.run([...options, ...REFRESH], undefined, REFRESH_TIMEOUT_MS).catch(ignoreExitOne);
    const list = commit === undefined ? ['diff-files'] : ['diff-index', commit];
    const how = ['--name-only', '-z', '--no-renames', '--ignore-submodules=all'];
    return new Set(splitPaths(await this.run([...options, ...list, ...how], undefined, LIST_TIMEOUT_MS)));
  }

  /** Selects the files that a filter such as Git LFS applies to. */
  async filteredPaths(paths: readonly string[] | Promise<readonly string[]>): Promise<string[]> {
    const input = Promise.resolve(paths).then(joinPaths);
    const answer = splitPaths(
      await this.run(['check-attr', '-z', '--stdin', 'filter'], input, LIST_TIMEOUT_MS),
    );
    return answer.filter((_, at) => at % 3 === 0 && !NO_FILTER.has(answer[at + 2]!));
  }

  paths = async (): Promise<Set<string>> =>
    new Set(splitPaths(await this.run(['ls-files', '-z'], undefined, LIST_TIMEOUT_MS)));

  /**
   * Resets the index like `git reset`: git does not read files again that it has read before, and reads the other files
   * now.
   */
  async reset(commit: string): Promise<void> {
    await this.run(['read-tree', '--reset', commit]);
    await this.run(REFRESH).catch(ignoreExitOne);
  }

  async hiddenFiles(only?: ReadonlySet<string>, signal?: AbortSignal): Promise<HiddenFiles> {
    const all = await this.#unusualEntries(signal);
    const entries = only ? all.filter(({ path }) => only.has(path)) : all;
    const marked = entries.filter(({ tag }) => tag.toUpperCase() === 'S').map(({ path }) => path);
    const stats = await eachOf(marked, path => statWorkFile(this.git.folder.root, path));
    const absent = new Set(marked.filter((_, at) => !stats[at]));
    const assumed = entries.filter(({ tag, path }) => tag !== tag.toUpperCase() && !absent.has(path));
    return {
      assumed: assumed.map(({ path }) => path),
      skipped: marked.filter(path => !absent.has(path)),
      absent,
      links: entries.filter(({ mode }) => mode === SUBMODULE).map(({ path }) => path),
    };
  }

  /**
   * Entries with a flag, and submodules. Git lists all entries to find them, so the result is cached until the index
   * changes.
   */
  async #unusualEntries(signal?: AbortSignal): Promise<readonly IndexEntry[]> {
    const stamp = await settledStamp(this.file);
    const known = unusual.get(this.file);
    if (stamp !== null && known?.stamp === stamp) return known.entries;
    const how = { maxBytes: MAX_LIST_BYTES, limitMs: LIST_TIMEOUT_MS, signal };
    const all = parseEntries(await this.#run(['ls-files', '-v', '--stage', '-z'], how));
    const entries = all.filter(({ tag, mode }) => tag !== 'H' || mode === SUBMODULE);
    if (stamp === null || entries.length > MAX_KEPT_ENTRIES || stamp !== (await settledStamp(this.file)))
      return entries;
    if (unusual.size >= MAX_KEPT_INDEXES) unusual.clear();
    unusual.set(this.file, { stamp, entries });
    return entries;
  }

  /**
   * Makes git check the files in `only`, or all files, despite flags in the index. People hide their own changes with
   * `assume-unchanged` and `skip-worktree`. A file that is missing in the folder because of a flag does not count as
   * deleted.
   */
  async unhide(only?: ReadonlySet<string>): Promise<HiddenFiles> {
    const hidden = await this.hiddenFiles(only);
    await this.#update(['--no-assume-unchanged', '-z', '--stdin'], hidden.assumed);
    await this.#update(['--no-skip-worktree', '-z', '--stdin'], hidden.skipped);
    return hidden;
  }

  setSkipWorktree = (paths: readonly string[]): Promise<void> =>
    this.#update(['--skip-worktree', '-z', '--stdin'], paths);

  // A partial clone does not have every blob, and does not need all of them here. Therefore `--missing-ok`.
  writeTree = async (): Promise<string> => outputLine(await this.run(['write-tree', '--missing-ok']));

  async commit(parent: string, message: string): Promise<string> {
    return commitTree(this.git, await this.writeTree(), [parent], message);
  }
}

const SUBMODULE = '160000';
const MAX_KEPT_INDEXES = 100;
const MAX_KEPT_ENTRIES = 1_000;
const unusual = new Map<string, { stamp: string; entries: readonly IndexEntry[] }>();

/**
 * Age from which the time of a file proves that the file has not changed. Two changes within one tick of the file
 * system's clock have the same time.
 */
const SETTLED_AFTER_MS = 100;

/** A stamp that differs after every change of the file. Null while that is not certain. */
async function settledStamp(file: string): Promise<string | null> {
  const found = await lstat(file, { bigint: true }).catch(() => null);
  if (!found?.isFile() || Date.now() - Number(found.ctimeMs) < SETTLED_AFTER_MS) return null;
  return [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join();
}

const NO_FILTER = new Set(['unspecified', 'unset', 'set']);
const REFRESH = ['update-index', '-q', '--refresh', '--ignore-submodules'];

/**
 * Creates a temporary index in `parent`. If the index is to be installed later, `parent` must be git's own folder, so
 * that a rename is enough.
 */
export async function withScratchIndex<T>(
  git: Git,
  use: (index: GitIndex) => Promise<T>,
  parent = tmpdir(),
): Promise<T> {
  const folder = await mkdtemp(join(parent, 'squad-index-'));
  try {
    return await use(new GitIndex(git, join(folder, 'index')));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Copy of a work tree's index in the same folder, so that it can be installed by a rename. */
export const withIndexCopy = <T>(git: Git, tip: string, use: (index: GitIndex) => Promise<T>): Promise<T> =>
  withScratchIndex(
    git,
    async index => {
      await index.copy(indexOf(git), tip);
      return use(index);
    },
    git.folder.gitDir,
  );

/**
 * Copy of a work tree's index in which no file is hidden from git. Without an index the copy holds `tip`, or nothing.
 * Then git reads every file.
 */
export const withHonestIndex = <T>(
  git: Git,
  use: (index: GitIndex, hidden: HiddenFiles) => Promise<T>,
  tip?: string,
): Promise<T> =>
  withScratchIndex(git, async index => {
    await index.copy(indexOf(git), tip);
    return use(index, await index.unhide());
  });

export interface IndexFile {
  bytes: Buffer;
  mtimeNs: bigint;
}

export const isSameIndex = (one: IndexFile | null, other: IndexFile | null): boolean =>
  one === null || other === null ? one === other : one.bytes.equals(other.bytes);

export const indexOf = ({ folder: { gitDir } }: Git): string => join(gitDir, 'index');

/** The work tree's own index, for reading only. */
export const ownIndex = (git: Git): GitIndex => new GitIndex(git, indexOf(git));

/**
 * Reads the index. Null if there is none. Git only ever replaces it as a whole. An agent may have put something else
 * in its place.
 */
export async function readIndex(path: string): Promise<IndexFile | null> {
  const how = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
  const file = await open(path, how).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new GitError(`its index cannot be read (${error.code})`);
  });
  if (!file) return null;
  try {
    const found = await file.stat({ bigint: true });
    if (!found.isFile()) throw new GitError('its index is not a file');
    return { bytes: await file.readFile(), mtimeNs: found.mtimeNs };
  } finally {
    await file.close();
  }
}

/** Format: `H 100644 1234… 0\tpath` */
const parseEntries = (output: Buffer): IndexEntry[] =>
  splitPaths(output).map(line => ({
    tag: line[0]!,
    mode: line.slice(2, 8),
    path: line.slice(line.indexOf('\t') + 1),
  }));
