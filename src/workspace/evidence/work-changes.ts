import { relative } from 'node:path';
import type { WorkPlace } from '../../core/ports/changes.ts';
import type { WorkChanges, WorkSnapshot } from '../../schema/work.ts';
import { eachOf, isBinary, readWorkFile, statWorkFile } from '../files/file-stamp.ts';
import { pathText } from '../files/path-text.ts';
import { type Git, GitTrouble } from '../git/git.ts';
import { withoutReview } from '../review/feedback-commits.ts';
import { branchNotes, commitsMade, droppedNotes, elsewhereNotes } from './commits-made.ts';
import { type Compared, type Difference, withComparison } from './work-difference.ts';

/** New files up to this size are read to count their lines, in all up to this many bytes. */
const LARGEST_COUNTED = 1024 * 1024;
const MOST_COUNTED = 64 * LARGEST_COUNTED;

/** What the run at work in `directory` since the snapshot has changed, in the whole repository. */
export async function findChanges(
  git: Git,
  directory: string,
  before: WorkSnapshot,
  { workspace, branch }: WorkPlace,
): Promise<WorkChanges> {
  const notes: string[] = [];
  const known = async <T>(part: Promise<T>): Promise<T | null> => {
    try {
      return await part;
    } catch (trouble) {
      if (!(trouble instanceof GitTrouble)) throw trouble;
      if (!notes.includes(trouble.message)) notes.push(trouble.message);
      return null;
    }
  };

  const compared = await known(withComparison(git, before, workspace, async found => found));
  if (!compared) return { files: null, commits: null, lines: null, notes };
  const made = await known(commitsMade(git, before, compared.status, branch));
  const commits = made && { count: made.count, newest: made.newest };
  const own = made?.hasFeedback ? withoutReview(compared.files) : compared.files;
  if (made) notes.push(...droppedNotes(made.dropped), ...elsewhereNotes(made.elsewhere, branch));
  const { branch: current } = compared.status;
  const isElsewhere = branch !== undefined && current !== branch;
  if (isElsewhere)
    notes.push(`the work tree is on ${current ?? 'a detached HEAD'}, not on the run's branch ${branch}`);
  notes.push(...compared.notes);
  notes.push(...((await known(branchNotes(git, before, compared.status))) ?? []));
  const lines = await countLines(git.folder.root, { ...compared, files: own }, notes);
  const files = own
    .map(each => ({
      path: pathText(each.path),
      status: each.status,
      isOutside: isOutside(git.folder.root, directory, each.path),
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  return { files, commits, lines, notes, ...(isElsewhere && { isElsewhere }) };
}

function isOutside(root: string, directory: string, path: string): boolean {
  const below = Buffer.from(relative(root, directory)).toString('latin1');
  return below !== '' && !path.startsWith(`${below}/`);
}

async function countLines(
  root: string,
  { files, uncounted }: Compared,
  notes: string[],
): Promise<WorkChanges['lines']> {
  if (uncounted) {
    notes.push(`lines could not be counted (${uncounted})`);
    return null;
  }
  const wereDirty = files.filter(({ wasDirty }) => wasDirty).length;
  if (wereDirty > 0)
    notes.push(
      `${wereDirty} of the files had uncommitted changes before the run: their lines are not counted`,
    );
  const budget = { bytes: MOST_COUNTED };
  const counted = await eachOf(files, async file => file.lines ?? (await linesOfNew(root, file, budget)));
  const tooLarge = counted.filter(each => each === 'too large').length;
  if (tooLarge > 0)
    notes.push(
      `${tooLarge} of the new files could not be read to count their lines: too large, or too many in all`,
    );
  // A sum of some of them would pass for that of all.
  if (wereDirty > 0 || tooLarge > 0) return null;
  const lines = counted.filter(each => each !== null && each !== 'too large');
  const insertions = lines.reduce((sum, each) => sum + each.insertions, 0);
  const deletions = lines.reduce((sum, each) => sum + each.deletions, 0);
  // Nothing was counted: that is not to say that nothing changed.
  return insertions + deletions === 0 && lines.length < counted.length ? null : { insertions, deletions };
}

/** Null for what has none, as binary content. */
async function linesOfNew(
  root: string,
  { path, isUntracked, wasDirty }: Difference,
  budget: { bytes: number },
): Promise<Difference['lines'] | 'too large'> {
  if (!isUntracked || wasDirty) return null;
  const content = budget.bytes > 0 ? await readWorkFile(root, path, LARGEST_COUNTED) : null;
  budget.bytes -= content?.length ?? 0;
  // A repository of its own has no lines of ours.
  if (!content) return (await statWorkFile(root, path))?.isDirectory() ? null : 'too large';
  if (isBinary(content)) return null;
  let insertions = content.length > 0 && content.at(-1) !== 10 ? 1 : 0;
  for (let at = content.indexOf(10); at >= 0; at = content.indexOf(10, at + 1)) insertions++;
  return { insertions, deletions: 0 };
}
