import { constants, existsSync, statSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

/** Where a repository keeps its things; a linked work tree shares most of them. */
export interface GitFolder {
  root: string;
  gitDir: string;
  commonDir: string;
}

const MAX_BYTES = 1024 * 1024;

/** The work tree around a folder, found as git finds it. A bare repository has none. */
export async function findGitFolder(directory: string): Promise<GitFolder | null> {
  for (let root = directory; ; root = dirname(root)) {
    const gitDir = await gitDirAt(root);
    if (gitDir) {
      const common = (await readText(join(gitDir, 'commondir')))?.trim();
      return { root, gitDir, commonDir: common ? resolve(gitDir, common) : gitDir };
    }
    if (dirname(root) === root) return null;
  }
}

/** The text of the repository's own configuration, one for each file there is. */
export async function repositoryConfig({ gitDir, commonDir }: GitFolder): Promise<string[]> {
  const files = [join(commonDir, 'config'), join(gitDir, 'config.worktree')];
  const texts = await Promise.all(files.map(file => readText(file)));
  return texts.filter(text => text !== null);
}

const headLogOf = ({ gitDir }: GitFolder): string => join(gitDir, 'logs', 'HEAD');

/** Everything HEAD of this work tree points to is appended to a list: how long that is now. 0 where none is kept. */
export const headLogSize = async (folder: GitFolder): Promise<number> =>
  (await stat(headLogOf(folder)).catch(() => null))?.size ?? 0;

/** What was appended since. */
export const headLogSince = async (folder: GitFolder, offset: number): Promise<string> =>
  (await readText(headLogOf(folder), offset)) ?? '';

async function gitDirAt(root: string): Promise<string | null> {
  const path = join(root, '.git');
  const kind = kindOf(path);
  // An empty folder of that name is none to git either: it goes on looking above.
  if (kind === 'folder') return existsSync(join(path, 'HEAD')) ? path : null;
  const target =
    kind === 'file' ? /^gitdir: (.+?)[\r\n]*$/s.exec((await readText(path)) ?? '')?.[1] : undefined;
  return target ? resolve(root, target) : null;
}

function kindOf(path: string): 'folder' | 'file' | null {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isDirectory()) return 'folder';
  return stat?.isFile() ? 'file' : null;
}

/** Null when it is not there or no plain file: to wait for the other end of a pipe would be to wait for ever. */
async function readText(path: string, offset = 0): Promise<string | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => null);
  if (!file) return null;
  try {
    const found = await file.stat();
    if (!found.isFile()) return null;
    const buffer = Buffer.alloc(Math.max(0, Math.min(found.size - offset, MAX_BYTES)));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
