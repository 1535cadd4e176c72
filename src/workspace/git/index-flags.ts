import { statWorkFile } from '../files/file-stamp.ts';
import type { ScratchIndex } from '../worktrees/branch-commit.ts';

/** Files that the index says are kept out of the folder: those that are there all the same, and those that are not. */
interface KeptOut {
  present: string[];
  absent: Set<string>;
}

/**
 * Makes git look at these paths (bytes, one character each) whatever flags the index has for them: by `assume-unchanged` and
 * `skip-worktree` people hide changes of their own. A file that is not in the folder because of a flag may stay away.
 */
export async function uncover(index: ScratchIndex, root: string, paths: readonly string[]): Promise<KeptOut> {
  const keptOut: KeptOut = { present: [], absent: new Set() };
  if (paths.length === 0) return keptOut;
  const asked = new Set(paths);
  const assumed: string[] = [];
  for (const line of (await index.run(['ls-files', '-v', '-z'])).toString('latin1').split('\0')) {
    const [tag = '', path] = [line[0], line.slice(2)];
    if (!asked.has(path)) continue;
    const isKeptOut = tag.toUpperCase() === 'S';
    const isAbsent = isKeptOut && !(await statWorkFile(root, path));
    if (isAbsent) keptOut.absent.add(path);
    else if (isKeptOut) keptOut.present.push(path);
    if (tag !== tag.toUpperCase() && !isAbsent) assumed.push(path);
  }
  await flag(index, '--no-assume-unchanged', assumed);
  await flag(index, '--no-skip-worktree', keptOut.present);
  return keptOut;
}

export const keepOut = (index: ScratchIndex, paths: readonly string[]): Promise<void> =>
  flag(index, '--skip-worktree', paths);

async function flag(index: ScratchIndex, option: string, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return;
  const input = Buffer.from(paths.map(path => `${path}\0`).join(''), 'latin1');
  await index.run(['update-index', option, '-z', '--stdin'], input);
}
