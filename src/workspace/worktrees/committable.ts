import { lstat, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SquadError } from '../../schema/error.ts';
import { statWorkFile } from '../files/file-stamp.ts';
import { pathBytes, pathText } from '../files/paths.ts';
import type { Git } from '../git/git.ts';
import { type Change, entryAt, type ScratchIndex } from './branch-commit.ts';
import type { BranchPlace } from './branch-place.ts';

/** Many files, or large ones. */
export const STAGE_MS = 180_000;

export interface Unstaged {
  unmerged: string[];
  changed: string[];
  /** Gone with the folder they were in, where a link is now. */
  replaced: string[];
  isNew: string[];
  /** A submodule, or what would be one, is among what differs from the last commit. */
  hasLinks: boolean;
}

/** Where the folder is not as the index has it. Submodules count when they are at another commit. */
export async function unstagedPaths(index: ScratchIndex, root: string, ignored: string[]): Promise<Unstaged> {
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
  const hasLinks = found.some(({ isLink }) => isLink);
  return { unmerged, changed, replaced: [...replaced], isNew, hasLinks };
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

/** One git tells all of it: conflicts, what differs, what is new. */
const STATUS = [
  ...['status', '--porcelain=v2', '-z', '--untracked-files=all', '--no-renames'],
  ...['--ignore-submodules=dirty', '--no-ahead-behind'],
];
/** How many fields come before the path. */
const FIELDS: Record<string, number> = { '1': 8, u: 10, '?': 1 };

interface StatusLine {
  kind: string;
  /** How the file is in the folder, against the index. */
  folder: string;
  isLink: boolean;
  path: string;
}

/** `1 .M N... 100644 100644 100644 1234… 5678… path`, `u UU …`, `? path`. */
function entryOf(line: string): StatusLine {
  const kind = line[0] ?? '';
  let at = 0;
  for (let fields = FIELDS[kind] ?? 0; fields > 0; fields--) at = line.indexOf(' ', at) + 1;
  const isLink = kind === '1' && line.split(' ', 6).slice(4).includes('160000');
  return { kind, folder: line[3] ?? '.', isLink, path: line.slice(at) };
}

const split = (output: Buffer): string[] =>
  output
    .toString('latin1')
    .split('\0')
    .filter(path => path !== '');

/** A file nobody meant to commit; and more than what most forges take. */
const MAX_NEW_BYTES = 100 * 1024 * 1024;
const MAX_NAMED = 5;
const AT_ONCE = 64;

interface Found {
  changed: string[];
  isNew: string[];
}

/** What would be committed otherwise than the agent's own git would do it, or had better not be at all. */
export async function checkUnstaged(
  place: BranchPlace,
  index: ScratchIndex,
  files: Promise<string[]>,
): Promise<void> {
  const filtered = withFilter(index, files);
  await Promise.allSettled([files, filtered]);
  await files;
  if ((await filtered).length > 0)
    throw uncommittable(
      place,
      'a filter (Git LFS, say) belongs to changed files, and Squad runs none',
      await filtered,
      COMMIT_THESE,
    );
}

/** Of plain files only: filters know no others. */
export async function fittingFiles(place: BranchPlace, { changed, isNew }: Found): Promise<string[]> {
  const repositories = isNew.filter(path => path.endsWith('/'));
  if (repositories.length > 0) throw embedded(place, repositories);
  const sizes = await fileSizes(place.worktree.path, [...changed, ...isNew]);
  const huge = isNew.filter(path => (sizes.get(path) ?? 0) > MAX_NEW_BYTES);
  if (huge.length > 0)
    throw uncommittable(
      place,
      `new files are larger than ${MAX_NEW_BYTES / 1024 / 1024} MiB`,
      huge,
      IGNORE_OR_COMMIT,
    );
  return [...sizes.keys()];
}

/** A repository that was added as if it were a submodule: the commit would name what nobody else has. */
export async function checkLinks(place: BranchPlace, index: ScratchIndex, changes: Change[]): Promise<void> {
  const links = changes.filter(({ was, is }) => is?.mode === '160000' && was?.mode !== '160000');
  if (links.length === 0) return;
  const known = await submodulePaths(place, await index.writeTree());
  const unknown = links.filter(({ path }) => !known.has(path)).map(({ path }) => path);
  if (unknown.length > 0) throw embedded(place, unknown);
}

export function uncommittable(
  place: BranchPlace,
  why: string,
  paths: string[] = [],
  next = 'Put that right in the work tree, then try again.',
): SquadError {
  const names = paths.slice(0, MAX_NAMED).map(path => pathText(path).slice(0, 200));
  const more = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : '';
  const list = names.length > 0 ? `: ${names.join(', ')}${more}` : '';
  return new SquadError(
    'UNCOMMITTABLE',
    `The work in ${place.worktree.path} cannot be committed: ${why}${list}.`,
    {
      suggestions: [next],
    },
  );
}

const COMMIT_THESE = 'Commit these yourself, with your own git, then try again.';
const IGNORE_OR_COMMIT = 'Name them in .gitignore, or commit them yourself, then try again.';

const embedded = (place: BranchPlace, paths: string[]): SquadError =>
  uncommittable(
    place,
    'there is a git repository inside',
    paths,
    'Move it away, name it in .gitignore, or make it a submodule; then try again.',
  );

async function withFilter(index: ScratchIndex, files: Promise<string[]>): Promise<string[]> {
  const input = files.then(paths => Buffer.from(paths.map(path => `${path}\0`).join(''), 'latin1'));
  const answer = (await index.run(['check-attr', '-z', '--stdin', 'filter'], input, STAGE_MS))
    .toString('latin1')
    .split('\0');
  const found: string[] = [];
  for (let at = 0; at + 2 < answer.length; at += 3)
    if (!NO_FILTER.has(answer[at + 2]!)) found.push(answer[at]!);
  return found;
}

const NO_FILTER = new Set(['unspecified', 'unset', 'set']);

async function fileSizes(root: string, paths: string[]): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (let at = 0; at < paths.length; at += AT_ONCE) {
    const some = paths.slice(at, at + AT_ONCE);
    const infos = await Promise.all(some.map(path => lstat(pathBytes(root, path)).catch(() => null)));
    // In the order asked for, not of the answers: messages name the first few.
    for (const [n, info] of infos.entries()) if (info?.isFile()) sizes.set(some[n]!, info.size);
  }
  return sizes;
}

async function submodulePaths({ git }: BranchPlace, tree: string): Promise<Set<string>> {
  const file = await entryAt(git, tree, '.gitmodules');
  if (!file?.mode.startsWith('100')) return new Set();
  const args = ['config', '-z', '--blob', file.oid, '--get-regexp', '^submodule\\..*\\.path$'];
  const answer = (await git.run(args, { codes: [1] })).toString('latin1');
  return new Set(answer.split('\0').map(each => each.slice(each.indexOf('\n') + 1)));
}

/**
 * What the user ignores everywhere (editors' folders, secrets) is not to be committed in the user's name either. Git finds
 * the usual file by itself; one that the user's configuration names is all that is taken from there.
 */
export async function ignoredByUser(git: Git, env: Record<string, string | undefined>): Promise<string[]> {
  const { HOME, XDG_CONFIG_HOME } = env;
  if (!HOME) return [];
  const files = [join(HOME, '.gitconfig'), join(XDG_CONFIG_HOME || join(HOME, '.config'), 'git', 'config')];
  const naming = await Promise.all(files.map(mayName));
  const asked = files.filter((_, at) => naming[at]);
  if (asked.length === 0) return [];
  const answers = await Promise.all([null, ...asked].map(file => excludesFile(git, file)));
  // The repository's own word counts more.
  const [own, ...users] = answers;
  const named = own ? undefined : users.find(answer => answer !== '');
  return named ? ['-c', `core.excludesFile=${named}`] : [];
}

/** Names of settings cannot be written any other way, and somebody waits for every git. */
async function mayName(file: string): Promise<boolean> {
  const text = await readFile(file, 'latin1').catch(() => '');
  return /excludesfile|include/i.test(text);
}

/** As one file of the user's, or without it, the configuration names it; empty: it does not. */
async function excludesFile(git: Git, file: string | null): Promise<string> {
  const args = ['config', '--includes', '--type=path', '--get', 'core.excludesFile'];
  const env = file === null ? undefined : { GIT_CONFIG_GLOBAL: file };
  // A configuration that git cannot read is the user's to mend, with git's own words.
  return String(await git.run(args, { codes: [1], env }).catch(() => '')).trim();
}
