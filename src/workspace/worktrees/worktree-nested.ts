import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { eachOf } from '../files/file-stamp.ts';
import { isInside, pathBytes, pathText } from '../files/paths.ts';
import { readPlainFile } from '../files/text-file.ts';
import { GitError } from '../git/git.ts';

export interface Nested {
  /** Paths of folders with a repository of their own, whose commits may be nowhere else. */
  repositories: string[];
  /** Paths of submodules whose repository is in the work tree's own git folder. */
  submodules: string[];
}

const MAX_ENTRIES = 5_000_000;
const READ_BY_GIT = new Set(['.gitattributes', '.gitignore', '.gitmodules']);

/** Searches ignored folders too. Follows no links; throws if something cannot be read. */
export async function findNested(root: string, gitDir: string): Promise<Nested> {
  const nested: Nested = { repositories: [], submodules: [] };
  let count = 0;
  let folders = [''];
  while (folders.length > 0) {
    const below = await eachOf(folders, async folder => {
      const entries = await entriesOf(root, folder);
      count += entries.length;
      if (count > MAX_ENTRIES) throw new GitError('it has too many files to search');
      const pipe = entries.find(entry => READ_BY_GIT.has(entry.name) && entry.isFIFO());
      if (pipe) throw new GitError(`its ${pipe.name} is a pipe, which git would wait for forever`);
      const names = new Set(entries.map(({ name }) => name));
      const git = entries.find(({ name }) => name === '.git');
      const hasGit = git !== undefined && !(await isEmptyFolder(root, folder, git));
      if (folder !== '' && (hasGit || isBare(names))) {
        const isOurs = hasGit && (await isIn(join(gitDir, 'modules'), pathBytes(root, folder)));
        nested[isOurs ? 'submodules' : 'repositories'].push(folder);
        if (!isOurs) return [];
      }
      return entries.flatMap(entry =>
        entry.isDirectory() ? [folder === '' ? entry.name : `${folder}/${entry.name}`] : [],
      );
    });
    folders = below.flat();
  }
  return nested;
}

const entriesOf = (root: string, folder: string): Promise<Dirent[]> =>
  readdir(pathBytes(root, folder), { withFileTypes: true, encoding: 'latin1' }).catch(error => {
    if (error.code === 'ENOENT') return [];
    throw new GitError(`its folder ${pathText(folder)} cannot be read (${error.code})`);
  });

/** Codex's sandbox leaves empty `.git` folders in the folders its agents may write in. */
const isEmptyFolder = async (root: string, folder: string, entry: Dirent): Promise<boolean> =>
  entry.isDirectory() && (await entriesOf(root, `${folder}/${entry.name}`)).length === 0;

const isBare = (names: Set<string>): boolean => ['HEAD', 'objects', 'refs'].every(name => names.has(name));

async function isIn(modules: string, folder: Buffer): Promise<boolean> {
  const file = join(String(folder), '.git');
  const target = /^gitdir: (.+?)[\r\n]*$/s.exec(String((await readPlainFile(file)) ?? ''))?.[1];
  return target !== undefined && isInside(modules, resolve(dirname(file), target));
}

/** Finds files where a submodule belongs: git does not report those, whether it is checked out or not. Null: there are none. */
export async function findSubmoduleContent(
  root: string,
  links: readonly string[],
  nested: Nested,
): Promise<string | null> {
  const known = new Set(nested.submodules);
  for (const link of links) {
    if (known.has(link)) continue;
    const found = await lstat(pathBytes(root, link)).catch(() => null);
    if (!found?.isDirectory()) continue;
    if ((await readdir(pathBytes(root, link))).length > 0)
      return `it has files where the submodule ${pathText(link)} belongs, which git does not check: move them elsewhere, then try again`;
  }
  return null;
}

export const describeNested = (path: string): string =>
  `it holds a repository of its own, ${pathText(path)}: move that elsewhere or delete it, then try again`;
