import { resolve } from 'node:path';
import { offThread } from '../../core/off-thread.ts';
import type { DiffSize, FileVersion, WorkPlace } from '../../core/ports/worktrees.ts';
import type { WorkChanges, WorkDiff, WorkSnapshot } from '../../schema/evidence.ts';
import { FEEDBACK_FILE } from '../../schema/review.ts';
import { isBinary, readWorkFile, statWorkFile } from '../files/file-stamp.ts';
import { isInside, pathArgument, pathText } from '../files/paths.ts';
import { entryAt } from '../git/commits.ts';
import type { Git } from '../git/git.ts';
import { PLAIN_DIFF, trackedChanges } from '../git/git-status.ts';
import { feedbackCommits, withoutReview } from '../review/feedback-commits.ts';
import { type Compared, commitsMade, type Difference, withComparison } from './compare.ts';

/** Size from which a file counts as binary. The same as `core.bigFileThreshold` in git.ts. */
const MAX_SHOWN_BYTES = 8 * 1024 * 1024;
const LINK = 0o120000n;
const KIND = 0o170000n;

/** Diff that would add a file that git does not track. */
export async function newFileDiff(root: string, path: string): Promise<Buffer> {
  const name = pathText(path);
  const stat = await statWorkFile(root, path);
  if (!stat) return Buffer.from(`# ${name} is gone\n`);
  if (stat.isDirectory()) return Buffer.from(`# ${name} is a nested repository, whose files are not shown\n`);
  const content = await readWorkFile(root, path, MAX_SHOWN_BYTES);
  if (!content)
    return Buffer.from(`# ${name} is new: ${stat.size} bytes, too many to show, or not readable\n`);

  const mode = (stat.mode & KIND) === LINK ? '120000' : stat.mode & 0o100n ? '100755' : '100644';
  const head = `diff --git ${prefixed('a', name)} ${prefixed('b', name)}\nnew file mode ${mode}\n`;
  if (content.length === 0) return Buffer.from(head);
  if (isBinary(content))
    return Buffer.from(`${head}Binary files /dev/null and ${prefixed('b', name)} differ\n`);
  const { lines, body } = await offThread('new file', addedLines, content.length, content);
  const range = lines === 1 ? '+1' : `+1,${lines}`;
  return Buffer.concat([
    Buffer.from(`${head}--- /dev/null\n+++ ${prefixed('b', name)}\n@@ -0,0 ${range} @@\n`),
    body,
  ]);
}

/** Formats the content as added lines of a diff, and counts them. */
export function addedLines(content: Uint8Array): { lines: number; body: Uint8Array } {
  const text = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('latin1');
  const isWhole = text.endsWith('\n');
  const lines = (isWhole ? text.slice(0, -1) : text).split('\n');
  const body = `+${lines.join('\n+')}\n${isWhole ? '' : '\\ No newline at end of file\n'}`;
  return { lines: lines.length, body: Buffer.from(body, 'latin1') };
}

const prefixed = (side: string, name: string): string =>
  name.startsWith('"') ? `"${side}/${name.slice(1)}` : `${side}/${name}`;

/** Maximum length of all arguments of a command. Every system allows more. */
const MAX_ARGUMENT_BYTES = 64 * 1024;

const WERE_DIRTY = `# The files below had uncommitted changes before the run. Their content at that time was not kept: the diff is
# from the last commit before the run, and includes older changes.
`;

/** All changes since the snapshot as one unified diff. Lines that begin with # are Squad's notes. */
export const writeDiff = (
  git: Git,
  before: WorkSnapshot,
  { workspace, ...size }: WorkPlace & DiffSize,
): Promise<WorkDiff> =>
  withComparison(git, before, workspace, compared => diffOf(git, before, compared, size));

async function diffOf(
  git: Git,
  before: WorkSnapshot,
  { files: all, base, status, env }: Compared,
  { maxBytes, context }: DiffSize,
): Promise<WorkDiff> {
  const own = withoutReview(all);
  const isReviewed = own.length < all.length && (await commitsMade(git, before, status)).hasFeedback;
  const files = isReviewed ? own : all;
  const pieces = new Pieces(maxBytes);
  await write(files.filter(({ wasDirty }) => !wasDirty));
  const wereDirty = files.filter(({ wasDirty }) => wasDirty);
  if (wereDirty.length > 0) {
    pieces.add(Buffer.from(WERE_DIRTY + wereDirty.map(toNote).join('')));
    await write(wereDirty);
  }
  return pieces.whole();

  async function write(some: Difference[]): Promise<void> {
    const tracked = some.filter(({ isUntracked }) => !isUntracked);
    for (const paths of batches(tracked, pieces)) {
      if (pieces.isFull) return;
      const how = { maxBytes: pieces.room + 1, mayBeCut: true, env };
      const patch = git.run([...patchArguments(context), base, '--', ...paths], how);
      pieces.add(await patch.catch(error => unshown(paths, error)));
    }
    for (const { path, isUntracked, status } of some) {
      if (pieces.isFull) return;
      if (isUntracked && status !== 'D') pieces.add(await newFileDiff(git.folder.root, path));
    }
  }
}

const patchArguments = (context = 3): string[] => [
  ...PLAIN_DIFF,
  ...['--patch', `--unified=${context}`, '--inter-hunk-context=0', '--src-prefix=a/', '--dst-prefix=b/'],
];

/**
 * Note for files that git cannot show. If git cannot read one file, such as a pipe, it shows no file of the same
 * batch.
 */
const unshown = (paths: string[], error: Error): Buffer =>
  Buffer.from(`# Not shown (${error.message}), files: ${paths.length}\n`);

const toNote = ({ path, status }: Difference): string =>
  `# ${status} ${pathText(path)}${status === 'D' ? ' (deleted)' : ''}\n`;

/**
 * Groups paths into batches, one git command each. A file name that is not UTF-8 cannot be an argument and is only
 * mentioned.
 */
function* batches(files: Difference[], pieces: Pieces): Generator<string[]> {
  let batch: string[] = [];
  let bytes = 0;
  for (const { path, status } of files) {
    const argument = pathArgument(path);
    if (argument === null) {
      pieces.add(
        Buffer.from(`# ${status} ${pathText(path)}: not shown, because its name is not valid UTF-8\n`),
      );
      continue;
    }
    if (bytes + path.length > MAX_ARGUMENT_BYTES && batch.length > 0) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(argument);
    bytes += path.length + 1;
  }
  if (batch.length > 0) yield batch;
}

class Pieces {
  room: number;
  isFull = false;
  private readonly parts: Buffer[] = [];

  constructor(maxBytes: number) {
    this.room = maxBytes;
  }

  add(piece: Buffer): void {
    this.isFull ||= piece.length > this.room;
    this.parts.push(piece.subarray(0, this.room));
    this.room -= Math.min(piece.length, this.room);
  }

  /** Returns the diff so far, cut at the end of a line. */
  whole(): WorkDiff {
    const bytes = Buffer.concat(this.parts);
    const end = this.isFull ? bytes.lastIndexOf(10) + 1 : bytes.length;
    return { text: bytes.toString('utf8', 0, end), isTruncated: this.isFull };
  }
}

type BranchChanges = Pick<WorkChanges, 'files' | 'lines'>;

/** Changes between two commits, for a work tree whose folder is missing. */
export async function branchChanges(git: Git, from: string, to: string): Promise<BranchChanges> {
  const { byPath } = await trackedChanges(git, from, { tip: to });
  const all = (await isReviewed(git, from, to)) ? withoutReview([...byPath.values()]) : [...byPath.values()];
  const sum = (of: 'insertions' | 'deletions') =>
    all.reduce((total, { lines }) => total + (lines?.[of] ?? 0), 0);
  return {
    files: all
      .map(({ path, status }) => ({ path: pathText(path), status, isOutside: false }))
      .sort((a, b) => (a.path < b.path ? -1 : 1)),
    lines: { insertions: sum('insertions'), deletions: sum('deletions') },
  };
}

export async function branchDiff(
  git: Git,
  from: string,
  to: string,
  { maxBytes, context }: DiffSize,
): Promise<WorkDiff> {
  const pieces = new Pieces(maxBytes);
  pieces.add(
    await git.run([...patchArguments(context), from, to, '--'], { maxBytes: maxBytes + 1, mayBeCut: true }),
  );
  const { text, isTruncated } = pieces.whole();
  return { text: (await isReviewed(git, from, to)) ? withoutItsPart(text) : text, isTruncated };
}

/**
 * Removes the part of the feedback file from a patch. A line that begins with `diff --git` always begins a new part,
 * because no other line of a patch begins with `d`.
 */
const withoutItsPart = (patch: string): string =>
  patch
    .split(/^(?=diff --git )/m)
    .filter(part => !part.startsWith(`diff --git a/${FEEDBACK_FILE} b/`))
    .join('');

/** Whether Squad has committed a reviewer's feedback between the two commits. */
const isReviewed = async (git: Git, from: string, to: string): Promise<boolean> =>
  (await feedbackCommits(git, [to, '--not', from, '--'])).isOurs;

/** A file as it is in a commit, or in the folder if `commit` is null. Null if it is not there. */
export async function fileVersion(
  git: Git,
  path: string,
  commit: string | null,
  maxBytes: number,
): Promise<FileVersion | null> {
  if (commit !== null) {
    const entry = await entryAt(git, commit, path);
    if (!entry) return null;
    const bytes = Number(await git.run(['cat-file', '-s', entry.oid]));
    const content = bytes > maxBytes ? null : await git.run(['cat-file', 'blob', entry.oid], { maxBytes });
    return { bytes, content };
  }
  const { root } = git.folder;
  const name = Buffer.from(path).toString('latin1');
  const stat = await statWorkFile(root, name);
  if (!stat?.isFile() || !isInside(root, resolve(root, path))) return null;
  return { bytes: Number(stat.size), content: await readWorkFile(root, name, maxBytes) };
}
