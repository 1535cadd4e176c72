import { SquadError } from '../../schema/error.ts';
import type { BranchMove } from '../../schema/review.ts';
import { type Git, GitError } from '../git/git.ts';
import {
  asBytes,
  COMMITTER,
  type Entry,
  entryAt,
  line,
  sameContent,
  withScratchIndex,
} from './branch-commit.ts';
import { type BranchPlace, headOf, tipOf } from './branch-place.ts';
import { type FolderFile, readFolderFile } from './folder-file.ts';

/** One file with this text on the tip, or without it, as commits that nothing points to yet. */
export async function prepareFile(
  place: BranchPlace,
  { path, text }: { path: string; text: string | null },
  message: string,
): Promise<BranchMove | null> {
  const { git } = place;
  const tip = await tipOf(place);
  const was = await entryAt(git, tip, path);
  if (text === null && !was) return null;
  if (was?.mode === '040000' || was?.mode === '160000')
    throw failed(path, 'the branch has a folder of that name');
  const own = await uncommitted(place, tip, { path, was, mustFit: text !== null });
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

/** What the agent has in the file and in no commit: from the folder, or only staged. Null: nothing. */
async function uncommitted(
  place: BranchPlace,
  tip: string,
  { path, was, mustFit }: { path: string; was: Entry | null; mustFit: boolean },
): Promise<Entry | null> {
  const { git, worktree, ref, hasFolder } = place;
  if (!hasFolder || (await headOf(place)) !== ref) return null;
  const file = await readFolderFile(worktree.path, path);
  if (file.kind === 'barred') throw failed(path, file.why);
  if (file.kind === 'folder' && !file.isEmpty && mustFit)
    throw failed(path, 'there is a folder of that name');
  const inFolder = await entryOf(git, file, path);
  if (inFolder && !sameContent(inFolder, was)) return inFolder;
  const args = ['diff-index', '--cached', '--raw', '-z', '--no-renames', '--no-abbrev', tip, '--', path];
  const [raw = '', name] = String(await git.run(args, { env: COMMITTER })).split('\0');
  const [, mode = '', , oid = '', how] = raw.slice(1).split(' ');
  const isStaged = name === path && (how === 'A' || how === 'M' || how === 'T') && mode !== '160000';
  return isStaged && !sameContent({ mode, oid }, was) ? { mode, oid } : null;
}

/** The same as git would have it; null for what git would not. */
export async function entryOf(git: Git, file: FolderFile, path: string): Promise<Entry | null> {
  if (!('bytes' in file)) return null;
  if (file.kind === 'link') return { mode: '120000', oid: await store(git, file.bytes, null) };
  return { mode: file.isExecutable ? '100755' : '100644', oid: await store(git, file.bytes, path) };
}

/** With a path, line ends are made what the repository's attributes want them to be in commits. */
async function store(git: Git, input: Buffer, path: string | null): Promise<string> {
  const args = ['-c', 'core.safecrlf=false', 'hash-object', '-w', '--stdin'];
  return line(
    await git.run([...args, ...(path === null ? ['--no-filters'] : [`--path=${path}`])], { input }),
  );
}

const failed = (path: string, why: string): SquadError =>
  new SquadError('FEEDBACK_FAILED', `${path} cannot be put on the branch: ${why}.`, {
    suggestions: [`Move or remove what is at ${path} in the run's work tree, then try again.`],
  });
