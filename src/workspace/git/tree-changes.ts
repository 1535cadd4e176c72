import { COMMITTER } from '../worktrees/branch-commit.ts';
import type { Git } from './git.ts';
import { PLAIN_DIFF } from './tracked-changes.ts';

/** A file that is otherwise in one commit than in another. */
export interface TreeChange {
  /** Bytes of the path from the root, one character each. */
  path: string;
  was: boolean;
  is: boolean;
}

export interface TreeChanges {
  files: TreeChange[];
  /** Submodules that are at another commit. */
  submodules: string[];
}

export async function treeChanges(git: Git, from: string, to: string): Promise<TreeChanges> {
  const tokens = (await git.run([...PLAIN_DIFF, '--raw', '-z', from, to, '--'], { env: COMMITTER }))
    .toString('latin1')
    .split('\0');
  const changes: TreeChanges = { files: [], submodules: [] };
  for (let at = 0; at + 1 < tokens.length; at += 2) {
    const [head = '', path = ''] = tokens.slice(at, at + 2);
    const [oldMode, newMode] = [head.slice(1, 7), head.slice(8, 14)];
    if (oldMode === SUBMODULE || newMode === SUBMODULE) changes.submodules.push(path);
    else changes.files.push({ path, was: oldMode !== ABSENT, is: newMode !== ABSENT });
  }
  return changes;
}

const ABSENT = '000000';
const SUBMODULE = '160000';
