import { dirname } from 'node:path';
import { statWorkFile } from '../files/file-stamp.ts';
import type { ScratchIndex } from './branch-commit.ts';

/** Many files, or large ones. */
export const STAGE_MS = 180_000;

export interface Unstaged {
  unmerged: string[];
  changed: string[];
  /** Gone with the folder they were in, where a link is now. */
  replaced: string[];
  isNew: string[];
  /** A submodule, or what would be one, is among what differs from the last commit. */
  hasLinks: boolean;
}

/** Where the folder is not as the index has it. Submodules count when they are at another commit. */
export async function unstagedPaths(index: ScratchIndex, root: string, ignored: string[]): Promise<Unstaged> {
  const output = await index.run([...ignored, ...STATUS], undefined, STAGE_MS);
  const found = split(output).map(entryOf);
  const unmerged = found.filter(({ kind }) => kind === 'u').map(({ path }) => path);
  const isNew = found.filter(({ kind }) => kind === '?').map(({ path }) => path);
  const changes = found.filter(({ kind, folder }) => kind === '1' && folder !== '.');
  const replaced = await beyondLinks(
    root,
    changes.filter(({ folder }) => folder === 'D').map(({ path }) => path),
  );
  const changed = changes.map(({ path }) => path).filter(path => !replaced.has(path));
  const hasLinks = found.some(({ isLink }) => isLink);
  return { unmerged, changed, replaced: [...replaced], isNew, hasLinks };
}

/** Paths whose folder is a link by now. What lies beyond it is not theirs, and git will not stage it. */
async function beyondLinks(root: string, paths: string[]): Promise<Set<string>> {
  const isLink = new Map<string, boolean>();
  const isBeyond = async (folder: string): Promise<boolean> => {
    if (folder === '.') return false;
    const known = isLink.get(folder);
    if (known !== undefined) return known;
    const found = (await isBeyond(dirname(folder))) || !!(await statWorkFile(root, folder))?.isSymbolicLink();
    isLink.set(folder, found);
    return found;
  };
  const beyond = new Set<string>();
  for (const path of paths) if (await isBeyond(dirname(path))) beyond.add(path);
  return beyond;
}

/** One git tells all of it: conflicts, what differs, what is new. */
const STATUS = [
  ...['status', '--porcelain=v2', '-z', '--untracked-files=all', '--no-renames'],
  ...['--ignore-submodules=dirty', '--no-ahead-behind'],
];
/** How many fields come before the path. */
const FIELDS: Record<string, number> = { '1': 8, u: 10, '?': 1 };

interface StatusLine {
  kind: string;
  /** How the file is in the folder, against the index. */
  folder: string;
  isLink: boolean;
  path: string;
}

/** `1 .M N... 100644 100644 100644 1234… 5678… path`, `u UU …`, `? path`. */
function entryOf(line: string): StatusLine {
  const kind = line[0] ?? '';
  let at = 0;
  for (let fields = FIELDS[kind] ?? 0; fields > 0; fields--) at = line.indexOf(' ', at) + 1;
  const isLink = kind === '1' && line.split(' ', 6).slice(4).includes('160000');
  return { kind, folder: line[3] ?? '.', isLink, path: line.slice(at) };
}

const split = (output: Buffer): string[] =>
  output
    .toString('latin1')
    .split('\0')
    .filter(path => path !== '');
