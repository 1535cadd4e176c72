import { join } from 'node:path';
import { isPlainFile, readPlainFile } from '../files/plain-file.ts';
import type { Git } from '../git/git.ts';

const SHOWN = 5;

/** What of the repository is not as usual in a work tree that Squad makes. */
export async function treeNotes(git: Git, commit: string): Promise<string[]> {
  const [modules, filters] = await Promise.all([submodulePaths(git, commit), filtersNamed(git)]);
  const notes: string[] = [];
  if (modules.length > 0)
    notes.push(
      `Submodules are not checked out in the work tree (${listed(modules)}). A set-up command can do it: git submodule update --init.`,
    );
  if (filters.includes('lfs'))
    notes.push(
      'Files in Git LFS are pointers in the work tree, not their content. A set-up command can fetch it: git lfs pull.',
    );
  const others = filters.filter(name => name !== 'lfs');
  if (others.length > 0)
    notes.push(`Files are as git keeps them in the work tree: the filter ${listed(others)} is not run.`);
  return notes;
}

export function uncommittedNote(count: number): string[] {
  if (count === 0) return [];
  const what = count === 1 ? '1 file has changes that are' : `${count} files have changes that are`;
  return [`${what} not committed, and so not in the work tree.`];
}

/** Paths from the root. */
async function submodulePaths(git: Git, commit: string): Promise<string[]> {
  if (!(await isPlainFile(join(git.folder.root, '.gitmodules')))) return [];
  const args = ['config', '-z', '--blob', `${commit}:.gitmodules`, '--get-regexp', '^submodule\\..*\\.path$'];
  // It may have come after the commit, or say nothing of use.
  const list = String(await git.run(args).catch(() => ''));
  return list.split('\0').flatMap(entry => entry.split('\n').slice(1).join('\n') || []);
}

/** Filters that the attributes at the root name. */
async function filtersNamed({ folder }: Git): Promise<string[]> {
  const files = [join(folder.root, '.gitattributes'), join(folder.commonDir, 'info', 'attributes')];
  const texts = await Promise.all(files.map(async file => String((await readPlainFile(file)) ?? '')));
  const lines = texts.flatMap(text => text.split('\n')).filter(line => !line.startsWith('#'));
  const names = lines.flatMap(line => [...line.matchAll(/\sfilter=(\S+)/g)].map(match => match[1]!));
  return [...new Set(names)];
}

const listed = (names: string[]): string =>
  names.slice(0, SHOWN).join(', ') + (names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '');
