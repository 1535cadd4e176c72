import { copyFile, lstat, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Worktree } from '../schema/worktree.ts';
import { COMMITTER, line, withScratchIndex } from './branch-commit.ts';
import { underWay } from './branch-place.ts';
import { type Git, GitTrouble } from './git.ts';
import { runPatiently } from './git-patience.ts';
import { readStatus, type Status, type StatusEntry } from './git-status.ts';
import { pathBytes, pathText } from './path-text.ts';
import { copiedPaths, readyFile, setUpFile } from './worktree-place.ts';

const SAVE_MS = 300_000;
const MOST_SAVED = 1000;

/** What is in a work tree and in no commit: of the agent, not what the set-up put there and nobody touched since. */
export interface Unsaved extends Status {
  untouched: StatusEntry[];
}

export async function readUnsaved(git: Git): Promise<Unsaved> {
  const { gitDir, root } = git.folder;
  const [status, copied] = await Promise.all([readStatus(git, { limitMs: SAVE_MS }), copiedPaths(gitDir)]);
  const marks = [readyFile(gitDir), setUpFile(gitDir)];
  const times = await Promise.all(
    marks.map(async file => (await stat(file).catch(() => null))?.ctimeMs ?? 0),
  );
  const readyAt = Math.max(...times);
  const untouched = new Set<StatusEntry>();
  for (const entry of status.entries)
    if (entry.isUntracked && copied.has(entry.path)) {
      const found = await lstat(pathBytes(root, entry.path)).catch(() => null);
      if (found && found.ctimeMs <= readyAt) untouched.add(entry);
    }
  const entries = status.entries.filter(entry => !untouched.has(entry));
  return { ...status, entries, untouched: [...untouched] };
}

/** A merge or the like: what is not committed may be half of it. */
export function unfinishedIn(git: Git): string | null {
  const begun = underWay({ git });
  return begun && `${begun} is under way in it: finish or abort that there, then try again`;
}

/** A repository in it has commits that are nowhere else, so it cannot be saved along. Null: there is none. */
export function nestedIn({ entries }: Unsaved): string | null {
  const nested = entries.find(({ path, isUntracked }) => isUntracked && path.endsWith('/'));
  return nested
    ? `it holds a repository of its own, ${pathText(nested.path)}: move that elsewhere or delete it, then try again`
    : null;
}

/** Puts it under a ref of its own, without touching folder, index or branch. Null: there is nothing to save. */
export async function saveWork(
  git: Git,
  { path, branch }: Worktree,
  unsaved: Unsaved,
): Promise<string | null> {
  if (unsaved.entries.length === 0) return saveLooseHead(git, path, git.folder.gitDir);
  const tree = await wholeTree(git, unsaved);
  const parents = unsaved.head === null ? [] : ['-p', unsaved.head];
  const message = `Work that was not committed in ${branch}`;
  const commit = line(await git.run(['commit-tree', tree, ...parents, '-m', message], { env: COMMITTER }));
  return keepUnder(git, path, commit);
}

/** Commits on no branch are known to the work tree's HEAD alone. */
export async function saveLooseHead(git: Git, path: string, gitDir: string): Promise<string | null> {
  const head = (await readFile(join(gitDir, 'HEAD'), 'utf8').catch(() => '')).trim();
  if (!/^[0-9a-f]{40,64}$/.test(head)) return null;
  const known = ['--branches', '--tags', '--remotes', '--glob=refs/squad'];
  const loose = await git.run(['rev-list', '-n', '1', head, '--not', ...known]);
  return loose.length > 0 ? keepUnder(git, path, head) : null;
}

/** Through an index of its own, begun from the real one so that only what changed is read. */
function wholeTree(git: Git, unsaved: Unsaved): Promise<string> {
  const nested = nestedIn(unsaved);
  if (nested) throw new GitTrouble(nested);
  const { entries } = unsaved;
  return withScratchIndex(git, async index => {
    await copyFile(join(git.folder.gitDir, 'index'), index.file).catch(() => {}); // without one git reads every file
    // Not `git add`, which starts a git in submodules, with a configuration that is theirs.
    const list = Buffer.from(entries.map(({ path }) => `${path}\0`).join(''), 'latin1');
    await index.run(['update-index', '--add', '--remove', '--replace', '-z', '--stdin'], list, SAVE_MS);
    return index.writeTree();
  });
}

async function keepUnder(git: Git, path: string, commit: string): Promise<string> {
  const name = `refs/squad/saved/${basename(path)}`;
  const list = String(await git.run(['for-each-ref', '--format=%(refname)', 'refs/squad/saved']));
  const taken = new Set(list.split('\n'));
  for (let n = 1; n < MOST_SAVED; n++) {
    const ref = n === 1 ? name : `${name}-${n}`;
    if (taken.has(ref)) continue;
    // Zeros: only if nobody has made one of that name meanwhile.
    await runPatiently(git, ['update-ref', ref, commit, '0'.repeat(commit.length)]);
    return ref;
  }
  throw new GitTrouble(`there are ${MOST_SAVED} refs ${name} already`);
}
