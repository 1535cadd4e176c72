import { randomBytes } from 'node:crypto';
import { lstat, mkdir, open, readdir, readlink, rename, rm, rmdir, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { nullIfMissing } from '../../base/missing-file.ts';
import { openRegular } from '../../process/output/regular-file.ts';
import { SquadError } from '../../schema/error.ts';
import type { BranchMove } from '../../schema/review.ts';
import { COMMITTER, entryAt, outputLine, sameContent, type TreeEntry } from '../git/commits.ts';
import { type Git, GitError } from '../git/git.ts';
import { ownIndex, withScratchIndex } from '../git/git-index.ts';
import type { RunBranch } from './run-branch.ts';

export const asBytes = (path: string): string => Buffer.from(path).toString('latin1');

/**
 * Prepares commits on the tip that write this text to one file, or remove the file. No ref points to the commits yet.
 */
export async function prepareFile(
  branch: RunBranch,
  { path, text }: { path: string; text: string | null },
  message: string,
): Promise<BranchMove | null> {
  const { git } = branch;
  const tip = await branch.tip();
  const was = await entryAt(git, tip, path);
  if (text === null && !was) return null;
  if (was?.mode === '040000' || was?.mode === '160000')
    throw failed(path, 'the branch has a folder of that name');
  const own = await uncommitted(branch, tip, { path, was, mustFit: text !== null });
  return withScratchIndex(git, async index => {
    await index.run(['read-tree', tip]);
    let parent = tip;
    if (own) {
      await index.set([[asBytes(path), own]]);
      parent = await index.commit(parent, `${path} as it was, kept before it is replaced`);
    }
    const ours = text === null ? null : { mode: '100644', oid: await store(git, Buffer.from(text), path) };
    await index.set([[asBytes(path), ours]]).catch(thrown => {
      if (thrown instanceof GitError && thrown.exitCode !== null) throw failed(path, thrown.message);
      throw thrown;
    });
    return { from: tip, to: await index.commit(parent, message) };
  });
}

/** The agent's uncommitted version of the file: from the folder, or from the index if it is only staged there. */
async function uncommitted(
  branch: RunBranch,
  tip: string,
  { path, was, mustFit }: { path: string; was: TreeEntry | null; mustFit: boolean },
): Promise<TreeEntry | null> {
  const { git, worktree } = branch;
  if (!branch.hasFolder || (await branch.head()) !== branch.ref) return null;
  const file = await readFolderFile(worktree.path, path);
  if (file.kind === 'barred') throw failed(path, file.why);
  if (file.kind === 'folder' && !file.isEmpty && mustFit)
    throw failed(path, 'there is a folder of that name');
  const inFolder = await entryOf(git, file, path);
  if (inFolder && !sameContent(inFolder, was)) return inFolder;
  const [staged] = await ownIndex(git).changesFrom(tip, path);
  const isStaged = staged?.path === asBytes(path) && staged.is?.mode !== '160000';
  return isStaged && !sameContent(staged.is, was) ? staged.is : null;
}

/** Stores the file in git and returns its entry. Null if git cannot store it. */
async function entryOf(git: Git, file: FolderFile, path: string): Promise<TreeEntry | null> {
  if (!('bytes' in file)) return null;
  if (file.kind === 'link') return { mode: '120000', oid: await store(git, file.bytes, null) };
  return { mode: file.isExecutable ? '100755' : '100644', oid: await store(git, file.bytes, path) };
}

/** Stores an object. With a path, line ends are converted by the repository's attributes. */
async function store(git: Git, input: Buffer, path: string | null): Promise<string> {
  const args = ['-c', 'core.safecrlf=false', 'hash-object', '-w', '--stdin'];
  return outputLine(
    await git.run([...args, ...(path === null ? ['--no-filters'] : [`--path=${path}`])], { input }),
  );
}

const failed = (path: string, why: string): SquadError =>
  new SquadError('FEEDBACK_FAILED', `${path} cannot be written to the branch: ${why}.`, {
    suggestions: [`Move or remove what is at ${path} in the run's work tree, then try again.`],
  });

/** A planned change of a file in the folder. It applies only while the file has not changed since it was read. */
export interface FilePlan {
  path: string;
  seen: FolderFile;
  next: NewFile;
}

/**
 * Plans the change of a file. Null if nothing is to be done. `changed` means that the file has content that is in no
 * commit, so the file stays.
 */
export async function planFile(
  { git, worktree }: RunBranch,
  move: BranchMove,
  path: string,
  direction: 'apply' | 'undo',
): Promise<FilePlan | null | 'changed'> {
  const seen = await readFolderFile(worktree.path, path);
  const [before, ours, own] = await Promise.all([
    versionsBefore(git, move, path),
    entryAt(git, move.to, path),
    entryOf(git, seen, path),
  ]);
  const [becomes, replaced] = direction === 'apply' ? [ours, before] : [before[0]!, [ours]];
  if (own ? sameContent(own, becomes) : seen.kind === 'none' && !becomes) return null;
  if (!mayReplace(seen, own, replaced, direction)) return 'changed';
  return { path, seen, next: await contentOf(git, becomes, path) };
}

function mayReplace(
  seen: FolderFile,
  own: TreeEntry | null,
  replaced: readonly (TreeEntry | null)[],
  direction: 'apply' | 'undo',
): boolean {
  if (own) return replaced.some(entry => sameContent(entry, own));
  if (seen.kind === 'none') return direction === 'apply' || replaced.includes(null);
  return direction === 'apply' && (seen.kind === 'other' || (seen.kind === 'folder' && seen.isEmpty));
}

/** Versions of the file that existed before Squad's, latest first: the agent's, then the branch's. */
async function versionsBefore(
  git: Git,
  { from, to }: BranchMove,
  path: string,
): Promise<(TreeEntry | null)[]> {
  const list = String(await git.run(['rev-list', '--topo-order', `${from}..${to}`], { env: COMMITTER }));
  const commits = [...list.trim().split('\n').slice(1), from];
  return Promise.all(commits.map(commit => entryAt(git, commit, path)));
}

async function contentOf(git: Git, entry: TreeEntry | null, path: string): Promise<NewFile> {
  if (!entry) return null;
  const isLink = entry.mode === '120000';
  const how = isLink ? ['blob'] : ['--filters', `--path=${path}`];
  const bytes = await git.run(['cat-file', ...how, entry.oid], { env: COMMITTER });
  return { bytes, isLink, isExecutable: entry.mode === '100755' };
}

/**
 * Calls `change`, then writes the file. Returns false and does nothing if something else is at the path by now. Steps
 * that can fail for lack of space or permission come before `change`. If a later step fails, the change is undone.
 */
export async function placeFile(
  root: string,
  { path, seen, next }: FilePlan,
  change: { make(): Promise<unknown>; undo(): Promise<unknown> } | null,
): Promise<boolean> {
  if (!isSameFile(await readFolderFile(root, path), seen)) return false;
  const target = join(root, path);
  const staged = next && (await stageFile(target, next));
  try {
    await change?.make();
    await (staged ? replaceFile(target, staged) : removeFile(target)).catch(async thrown => {
      await change?.undo();
      throw thrown;
    });
  } finally {
    if (staged) await rm(staged, { force: true });
  }
  return true;
}

const MAX_BYTES = 8 * 1024 * 1024;

/** The file at a path in a work tree's folder, without following links. */
export type FolderFile =
  | { kind: 'none' }
  | { kind: 'file' | 'link'; bytes: Buffer; isExecutable: boolean }
  /** A pipe or a socket, which has no content to keep. */
  | { kind: 'other' }
  | { kind: 'folder'; isEmpty: boolean }
  /** The path must not be touched, for the reason in `why`. */
  | { kind: 'barred'; why: string };

async function readFolderFile(root: string, path: string): Promise<FolderFile> {
  const parents = path.split('/').slice(0, -1);
  for (let depth = 1; depth <= parents.length; depth++) {
    const parent = await lstat(join(root, ...parents.slice(0, depth))).catch(nullIfMissing);
    if (!parent) return { kind: 'none' };
    if (!parent.isDirectory())
      return { kind: 'barred', why: `${parents.slice(0, depth).join('/')} is not a folder there` };
  }
  const file = join(root, path);
  const info = await lstat(file).catch(nullIfMissing);
  if (!info) return { kind: 'none' };
  if (info.isDirectory()) return { kind: 'folder', isEmpty: (await readdir(file)).length === 0 };
  if (info.isSymbolicLink())
    return { kind: 'link', bytes: await readlink(file, 'buffer'), isExecutable: false };
  if (!info.isFile()) return { kind: 'other' };
  if (info.size > MAX_BYTES) return { kind: 'barred', why: `it is larger than ${MAX_BYTES} bytes` };
  const handle = await openRegular(file);
  // The file was replaced at this moment. The comparison before the next step notices that.
  if (!handle) return { kind: 'other' };
  const bytes = await handle.readFile().finally(() => handle.close());
  return { kind: 'file', bytes, isExecutable: (info.mode & 0o100) !== 0 };
}

const isSameFile = (one: FolderFile, other: FolderFile): boolean =>
  one.kind === other.kind && (!('bytes' in one) || ('bytes' in other && one.bytes.equals(other.bytes)));

/** New content of the file. Null removes the file. */
type NewFile = { bytes: Buffer; isLink: boolean; isExecutable: boolean } | null;

async function stageFile(target: string, file: NonNullable<NewFile>): Promise<string> {
  const folder = dirname(target);
  await mkdir(folder, { recursive: true });
  const staged = join(folder, `.${basename(target)}.squad-${randomBytes(6).toString('hex')}`);
  if (file.isLink) await symlink(file.bytes, staged);
  else {
    const handle = await open(staged, 'wx', file.isExecutable ? 0o777 : 0o666);
    await handle.writeFile(file.bytes).finally(() => handle.close());
  }
  return staged;
}

/** Replaces by a rename, so that the file is never partial, and a link in its place is replaced, not followed. */
async function replaceFile(target: string, staged: string): Promise<void> {
  // Git has no empty folders, so an empty folder contains nobody's work.
  await rmdir(target).catch(() => {});
  await rename(staged, target);
}

async function removeFile(target: string): Promise<void> {
  const info = await lstat(target).catch(nullIfMissing);
  if (info && !info.isDirectory()) await rm(target, { force: true });
}
