import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { savedRefOf } from '../../schema/worktree.ts';
import { readPlainFile } from '../files/text-file.ts';
import { type Git, GitError, runWithLockRetry } from '../git/git.ts';
import { COMMITTER, line } from './branch-commit.ts';

const MAX_SAVED = 1000;
const LIST_MS = 300_000;
const KNOWN = ['--branches', '--tags', '--remotes', '--glob=refs/squad'];
const OID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** Commits that only the work tree itself knows of: its HEAD, its own refs and what those once were. Null: there are none. */
export async function saveUnreferencedCommits(
  git: Git,
  path: string,
  gitDir: string,
): Promise<string | null> {
  const commits = await ofType(git, [...(await named(gitDir))]);
  if (commits.length === 0) return null;
  const input = Buffer.from(commits.map(each => `${each}\n`).join(''));
  const args = ['rev-list', '--topo-order', '--parents', '--stdin', '--not', ...KNOWN];
  const lines = String(await git.run(args, { input, env: COMMITTER, limitMs: LIST_MS })).split('\n');
  const loose = lines.slice(0, -1).map(each => each.split(' '));
  const parents = new Set(loose.flatMap(([, ...of]) => of));
  const tips = loose.flatMap(([commit]) => (parents.has(commit!) ? [] : [commit!]));
  if (tips.length === 0) return null;
  return createBackupRef(git, path, tips.length === 1 ? tips[0]! : await tied(git, tips));
}

/** Under the work tree's name, with a number after it where that is taken. */
export async function createBackupRef(git: Git, path: string, commit: string): Promise<string> {
  const name = savedRefOf({ path });
  const list = String(await git.run(['for-each-ref', '--format=%(refname)', 'refs/squad/saved']));
  const taken = new Set(list.split('\n'));
  for (let n = 1; n < MAX_SAVED; n++) {
    const ref = n === 1 ? name : `${name}-${n}`;
    if (taken.has(ref)) continue;
    // Zeros: only if nobody has made one of that name meanwhile.
    await runWithLockRetry(git, ['update-ref', ref, commit, '0'.repeat(commit.length)]);
    return ref;
  }
  throw new GitError(`there are ${MAX_SAVED} refs ${name} already`);
}

/** One commit that has them all as parents, the newest first: so one ref is enough. */
async function tied(git: Git, tips: string[]): Promise<string> {
  const parents = tips.flatMap(tip => ['-p', tip]);
  const message = 'Commits that were on no branch any more';
  const args = ['commit-tree', `${tips[0]}^{tree}`, ...parents, '-m', message];
  return line(await git.run(args, { env: COMMITTER }));
}

/** What stands in the git folder of one work tree alone. What was fetched is elsewhere too. */
async function named(gitDir: string): Promise<Set<string>> {
  const found = new Set<string>();
  const names = await readdir(gitDir).catch(() => []);
  const own = names.filter(name => /^[A-Z_]+$/.test(name) && name !== 'FETCH_HEAD');
  const files = [
    ...own.map(name => join(gitDir, name)),
    ...(await filesIn(join(gitDir, 'refs'))),
    ...(await filesIn(join(gitDir, 'logs'))),
  ];
  for (const file of files)
    for (const row of String((await readPlainFile(file)) ?? '').split('\n'))
      for (const word of row.split(' ', 2)) if (OID.test(word) && !/^0+$/.test(word)) found.add(word);
  return found;
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  return entries.flatMap(entry => (entry.isFile() ? [join(entry.parentPath, entry.name)] : []));
}

/** A log may name what has been cleaned away since. */
async function ofType(git: Git, oids: string[]): Promise<string[]> {
  if (oids.length === 0) return [];
  const input = Buffer.from(oids.map(oid => `${oid}^{commit}\n`).join(''));
  const args = ['cat-file', '--batch-check=%(objectname)'];
  const list = String(await git.run(args, { input, env: COMMITTER, limitMs: LIST_MS }));
  return list.split('\n').filter(each => OID.test(each));
}
