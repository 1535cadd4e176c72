import { lstat } from 'node:fs/promises';
import { SquadError } from '../../schema/error.ts';
import { pathBytes, pathText } from '../files/path-text.ts';
import { type Change, entryAt, type ScratchIndex } from './branch-commit.ts';
import type { BranchPlace } from './branch-place.ts';
import { STAGE_MS } from './unstaged-paths.ts';

/** A file nobody meant to commit; and more than what most forges take. */
const MAX_NEW_BYTES = 100 * 1024 * 1024;
const MOST_NAMED = 5;
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
  const names = paths.slice(0, MOST_NAMED).map(path => pathText(path).slice(0, 200));
  const more = paths.length > MOST_NAMED ? ` and ${paths.length - MOST_NAMED} more` : '';
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
