import { isUtf8 } from 'node:buffer';
import { existsSync, lstatSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { readBounded, readFrom } from '../files/text-file.ts';
import type { Git } from './git.ts';

/** Folders of a work tree. Linked work trees share `commonDir`. */
export interface GitFolder {
  root: string;
  gitDir: string;
  commonDir: string;
}

/** Finds the work tree around a folder, like git does. A bare repository has none. */
export async function findGitFolder(directory: string): Promise<GitFolder | null> {
  for (let root = directory; ; root = dirname(root)) {
    const gitDir = gitDirAt(root);
    if (gitDir === 'unreadable') return null;
    if (gitDir) {
      const commonDir = commonDirOf(gitDir);
      return commonDir === null ? null : { root, gitDir, commonDir };
    }
    if (dirname(root) === root) return null;
  }
}

const headLogOf = ({ gitDir }: GitFolder): string => join(gitDir, 'logs', 'HEAD');

/** Size of the reflog of this work tree's HEAD, to which git appends. 0 if there is none. */
export const headLogSize = async (folder: GitFolder): Promise<number> =>
  (await stat(headLogOf(folder)).catch(() => null))?.size ?? 0;

export const headLogSince = async (folder: GitFolder, offset: number): Promise<string> =>
  (await readFrom(headLogOf(folder), offset)) ?? '';

function gitDirAt(root: string): string | 'unreadable' | null {
  const path = join(root, '.git');
  const kind = kindOf(path);
  // Like git, skips a `.git` folder without a HEAD, and searches further up.
  if (kind === 'folder') return existsSync(join(path, 'HEAD')) ? path : null;
  if (kind === null) return null;
  const target = /^gitdir: (.+)$/s.exec(pathIn(readBounded(path)) ?? '')?.[1];
  return target ? resolve(root, target) : 'unreadable';
}

/** The Git folder that all work trees share. Null if it cannot be determined. */
function commonDirOf(gitDir: string): string | null {
  const read = readBounded(join(gitDir, 'commondir'));
  if (read === 'missing') return gitDir;
  const path = pathIn(read);
  return path && resolve(gitDir, path);
}

/**
 * Reads a path like git does: a trailing space belongs to the path. Null for a path that Node cannot represent
 * exactly.
 */
function pathIn(read: Buffer | 'missing' | 'unfit'): string | null {
  if (typeof read === 'string') return null;
  const text = read.toString('utf8').replace(/[\r\n]+$/, '');
  return text === '' || text.includes('\0') || !isUtf8(read) ? null : text;
}

function kindOf(path: string): 'folder' | 'file' | null {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isDirectory()) return 'folder';
  return stat?.isFile() ? 'file' : null;
}

const OPERATIONS: readonly [file: string, name: string][] = [
  ['MERGE_HEAD', 'a merge'],
  ['rebase-merge', 'a rebase'],
  ['rebase-apply', 'a rebase'],
  ['CHERRY_PICK_HEAD', 'a cherry-pick'],
  ['REVERT_HEAD', 'a revert'],
  ['sequencer', 'a cherry-pick or revert of several commits'],
  ['BISECT_LOG', 'a bisect'],
];

/** Folder next to a work tree, for everything that belongs to the Git folder of its sandboxed agents. */
export const agentGitOf = (root: string): string => join(dirname(root), `${AGENT_GIT}${basename(root)}`);
/** Inverse of `agentGitOf`: the work tree to which the folder belongs. */
export const agentTreeOf = (folder: string): string =>
  join(dirname(folder), basename(folder).slice(AGENT_GIT.length));
export const isAgentGit = (name: string): boolean => name.startsWith(AGENT_GIT);
const AGENT_GIT = '.git-';

/**
 * Git operation that is in progress in this work tree, such as a merge or rebase, including one in a sandbox. Null if
 * there is none.
 */
export function gitOperationInProgress({ folder: { root, gitDir } }: Git): string | null {
  const folders = [gitDir, join(agentGitOf(root), 'git', 'worktrees', basename(gitDir))];
  const isThere = (file: string) =>
    folders.some(folder => lstatSync(join(folder, file), { throwIfNoEntry: false }) !== undefined);
  return OPERATIONS.find(([file]) => isThere(file))?.[1] ?? null;
}
