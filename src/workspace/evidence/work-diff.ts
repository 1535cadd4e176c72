import type { WorkPlace } from '../../core/ports/changes.ts';
import type { WorkDiff, WorkSnapshot } from '../../schema/work.ts';
import { pathArgument, pathText } from '../files/path-text.ts';
import type { Git } from '../git/git.ts';
import { PLAIN_DIFF } from '../git/tracked-changes.ts';
import { withoutReview } from '../review/feedback-commits.ts';
import { commitsMade } from './commits-made.ts';
import { newFileDiff } from './new-file-diff.ts';
import { type Compared, type Difference, withComparison } from './work-difference.ts';

/** Well below what any system takes as arguments. */
const MOST_ARGUMENT_BYTES = 64 * 1024;

const WERE_DIRTY = `# The files below had uncommitted changes before the run. What they held then was not kept: their whole
# difference from the last commit before the run is shown, older changes included.
`;

/** Everything that is different now from the snapshot, as one unified diff. Lines that begin with # are ours. */
export const writeDiff = (
  git: Git,
  before: WorkSnapshot,
  { maxBytes, workspace }: WorkPlace & { maxBytes: number },
): Promise<WorkDiff> =>
  withComparison(git, before, workspace, compared => diffOf(git, before, compared, maxBytes));

async function diffOf(
  git: Git,
  before: WorkSnapshot,
  { files: all, base, status, env }: Compared,
  maxBytes: number,
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
    for (const paths of batches(
      some.filter(({ isUntracked }) => !isUntracked),
      pieces,
    )) {
      if (pieces.isFull) return;
      const args = [
        ...PLAIN_DIFF,
        '--patch',
        '--unified=3',
        '--inter-hunk-context=0',
        '--src-prefix=a/',
        '--dst-prefix=b/',
      ];
      const how = { maxBytes: pieces.room + 1, mayBeCut: true, env };
      const patch = git.run([...args, base, '--', ...paths], how);
      pieces.add(await patch.catch(trouble => unshown(paths, trouble)));
    }
    for (const { path, isUntracked, status } of some) {
      if (pieces.isFull) return;
      if (isUntracked && status !== 'D') pieces.add(await newFileDiff(git.folder.root, path));
    }
  }
}

/** One file that git cannot read, a pipe say, costs the others of its batch. */
const unshown = (paths: string[], trouble: Error): Buffer =>
  Buffer.from(`# Not shown (${trouble.message}), files: ${paths.length}\n`);

const toNote = ({ path, status }: Difference): string =>
  `# ${status} ${pathText(path)}${status === 'D' ? ' (deleted)' : ''}\n`;

/** Paths to name in one call. What has no UTF-8 form cannot be named, and is only told. */
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
    if (bytes + path.length > MOST_ARGUMENT_BYTES && batch.length > 0) {
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

  /** A cut leaves whole lines. */
  whole(): WorkDiff {
    const bytes = Buffer.concat(this.parts);
    const end = this.isFull ? bytes.lastIndexOf(10) + 1 : bytes.length;
    return { text: bytes.toString('utf8', 0, end), isTruncated: this.isFull };
  }
}
