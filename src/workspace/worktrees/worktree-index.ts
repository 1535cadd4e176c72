import { constants } from 'node:fs';
import { lstat, open, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { eachOf } from '../files/file-stamp.ts';
import { pathBytes } from '../files/paths.ts';
import { type Git, GitError } from '../git/git.ts';
import { type ScratchIndex, withScratchIndex } from './branch-commit.ts';

/** A copy of a work tree's index, in which nothing is marked as not worth a look. */
export interface HonestIndex {
  index: ScratchIndex;
  /** Paths, one character for each byte, at which a submodule belongs: git does not tell what is in those. */
  links: string[];
  /** How many files `skip-worktree` keeps out of the folder. */
  keptOut: number;
}

/** Files that git does not look at, because the index says so. */
export interface HiddenFiles {
  /** Paths, one character for each byte. */
  paths: string[];
  /** Those that `skip-worktree` keeps out of the folder, as in a sparse checkout. */
  keptOut: number;
}

const LIST_BYTES = 400 * 1024 * 1024;
const LIST_MS = 300_000;

/** Without an index the copy holds `tip`, or nothing: then git reads every file. */
export function withHonestIndex<T>(
  git: Git,
  use: (honest: HonestIndex) => Promise<T>,
  tip?: string,
): Promise<T> {
  return withScratchIndex(git, async index => {
    const isThere = await copied(join(git.folder.gitDir, 'index'), index.file);
    if (!isThere && tip) await index.run(['read-tree', tip]);
    const entries = parse(await listed(git, { GIT_INDEX_FILE: index.file }));
    const { assumed, skipped, keptOut } = await flagsIn(git, entries);
    await unmark(index, '--no-assume-unchanged', assumed);
    await unmark(index, '--no-skip-worktree', skipped);
    const links = entries.flatMap(({ mode, path }) => (mode === '160000' ? [path] : []));
    return use({ index, links, keptOut });
  });
}

export async function hiddenFiles(git: Git, signal?: AbortSignal): Promise<HiddenFiles> {
  const { assumed, skipped, keptOut } = await flagsIn(git, parse(await listed(git, {}, signal)));
  return { paths: [...new Set([...assumed, ...skipped].map(({ path }) => path))], keptOut };
}

type Listed = { tag: string; mode: string; path: string };

async function flagsIn(
  git: Git,
  entries: Listed[],
): Promise<{ assumed: Listed[]; skipped: Listed[]; keptOut: number }> {
  const assumed = entries.filter(({ tag }) => tag !== tag.toUpperCase());
  const marked = entries.filter(({ tag }) => tag.toUpperCase() === 'S');
  const isPresent = await eachOf(marked, ({ path }) => isAt(git.folder.root, path));
  // Those that are not there are left out of a sparse checkout.
  const skipped = marked.filter((_, at) => isPresent[at]);
  return { assumed, skipped, keptOut: marked.length - skipped.length };
}

async function copied(from: string, to: string): Promise<boolean> {
  const how = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
  const source = await open(from, how).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new GitError(`its index cannot be read (${error.code})`);
  });
  if (!source) return false;
  try {
    const found = await source.stat({ bigint: true });
    if (!found.isFile()) throw new GitError('its index is not a file');
    const target = await open(to, 'wx', 0o600);
    await target.writeFile(await source.readFile()).finally(() => target.close());
    // A file that is younger than the index is looked into: a copy must not be younger than what it is of.
    const seconds = Number(found.mtimeNs - 1000n) / 1e9;
    await utimes(to, seconds, seconds);
    return true;
  } finally {
    await source.close();
  }
}

const listed = (git: Git, env: Record<string, string>, signal?: AbortSignal): Promise<Buffer> =>
  git.run(['-c', 'core.splitIndex=false', 'ls-files', '-v', '--stage', '-z'], {
    env,
    maxBytes: LIST_BYTES,
    limitMs: LIST_MS,
    signal,
  });

/** `H 100644 1234… 0\tpath`: a small letter says that git is to take the file for unchanged, an S that it does not want it there. */
function parse(output: Buffer): Listed[] {
  return output
    .toString('latin1')
    .split('\0')
    .slice(0, -1)
    .map(line => ({ tag: line[0]!, mode: line.slice(2, 8), path: line.slice(line.indexOf('\t') + 1) }));
}

async function unmark(index: ScratchIndex, how: string, entries: readonly { path: string }[]): Promise<void> {
  if (entries.length === 0) return;
  const list = Buffer.from(entries.map(({ path }) => `${path}\0`).join(''), 'latin1');
  await index.run(['-c', 'core.ignoreStat=false', 'update-index', how, '-z', '--stdin'], list, LIST_MS);
}

const isAt = (root: string, path: string): Promise<boolean> =>
  lstat(pathBytes(root, path)).then(
    () => true,
    () => false,
  );
