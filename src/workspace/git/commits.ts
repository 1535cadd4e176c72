import { splitPaths } from '../files/paths.ts';
import { type Environment, type Git, ignoreExitOne } from './git.ts';

export const SQUAD_EMAIL = 'squad@localhost';

/**
 * Squad's identity in commits that it makes. The branch and the message say whose work a commit contains. An agent
 * may have set replacement objects, so every git command that reads commits or trees for Squad ignores them.
 */
export const COMMITTER = {
  GIT_AUTHOR_NAME: 'Squad',
  GIT_AUTHOR_EMAIL: SQUAD_EMAIL,
  GIT_COMMITTER_NAME: 'Squad',
  GIT_COMMITTER_EMAIL: SQUAD_EMAIL,
  GIT_NO_REPLACE_OBJECTS: '1',
};

export interface TreeEntry {
  mode: string;
  oid: string;
}

/**
 * An entry that differs between two commits, or between a commit and an index. Its path has one character per byte.
 */
export interface TreeChange {
  path: string;
  was: TreeEntry | null;
  is: TreeEntry | null;
}

/** Parses output of `--raw -z --no-renames`: `:100644 100755 1234… 5678… M`, path, … */
export function parseRawDiff(output: Buffer): TreeChange[] {
  const tokens = splitPaths(output);
  const entry = (mode = '', oid = '') => (mode === '000000' ? null : { mode, oid });
  return tokens.flatMap((token, at) => {
    if (at % 2 === 1) return [];
    const [wasMode, isMode, wasOid, isOid] = token.slice(1).split(' ');
    return { path: tokens[at + 1]!, was: entry(wasMode, wasOid), is: entry(isMode, isOid) };
  });
}

/** Compares type and content, not the executable bit, because not every file system stores that bit. */
export const sameContent = (one: TreeEntry | null, other: TreeEntry | null): boolean =>
  one?.oid === other?.oid && (one?.mode === '120000') === (other?.mode === '120000');

/** Entry of a commit at a path. Null if there is none. A folder has mode 040000. */
export async function entryAt(git: Git, commit: string, path: string): Promise<TreeEntry | null> {
  const args = ['ls-tree', '-z', '--full-tree', commit, '--', path];
  // Format: `100644 blob 1234…\tpath`
  const [, mode, oid] = /^(\d+) \w+ (\w+)\t/.exec(String(await git.run(args, { env: COMMITTER }))) ?? [];
  return mode && oid ? { mode, oid } : null;
}

/** Creates a commit that no ref points to yet. */
export async function commitTree(
  git: Git,
  tree: string,
  parents: readonly string[],
  message: string,
  env: Record<string, string> = COMMITTER,
): Promise<string> {
  const args = ['commit-tree', tree, ...parents.flatMap(parent => ['-p', parent]), '-F', '-'];
  const input = Buffer.from(`${message.replaceAll('\0', ' ')}\n`);
  return outputLine(await git.run(args, { env, input }));
}

/** Commits by full ref name. The arguments of for-each-ref select the refs. */
export async function readRefs(git: Git, ...args: string[]): Promise<Map<string, string>> {
  const list = String(await git.run(['for-each-ref', '--format=%(objectname) %(refname)', ...args]));
  return new Map(
    list
      .split('\n')
      .slice(0, -1)
      .map(each => [each.slice(each.indexOf(' ') + 1), each.slice(0, each.indexOf(' '))]),
  );
}

/** Tip of exactly this branch. Null if the branch does not exist. */
export async function branchTip(git: Git, branch: string): Promise<string | null> {
  const ref = `refs/heads/${branch}`;
  return (await readRefs(git, ref)).get(ref) ?? null;
}

export async function isAncestor(git: Git, commit: string, of: string): Promise<boolean> {
  if (commit === of) return true;
  return git.run(['merge-base', '--is-ancestor', commit, of], { env: COMMITTER }).then(
    () => true,
    error => {
      ignoreExitOne(error);
      return false;
    },
  );
}

export const outputLine = (output: Buffer): string => String(output).trim();

/**
 * Paths of the submodules that `.gitmodules` in a commit or tree names, one character per byte. Empty if that file
 * cannot be read.
 */
export async function submodulePaths(git: Git, treeish: string): Promise<string[]> {
  const args = [
    'config',
    '-z',
    '--blob',
    `${treeish}:.gitmodules`,
    '--get-regexp',
    '^submodule\\..*\\.path$',
  ];
  const list = await git.run(args, { env: COMMITTER }).catch(() => Buffer.alloc(0));
  return splitPaths(list).map(entry => entry.slice(entry.indexOf('\n') + 1));
}

/** The user's name and email from their git configuration, or Squad's. No other setting is read from there. */
export async function committer(git: Git, env: Environment): Promise<Record<string, string>> {
  const read = async (more: Record<string, string>) => {
    const args = ['config', '--includes', '-z', '--get-regexp', '^user\\.(name|email)$'];
    return parseIdentity(await git.run(args, { env: more, codes: [1] }));
  };
  const files = [
    ...(env.XDG_CONFIG_HOME || env.HOME
      ? [`${env.XDG_CONFIG_HOME || `${env.HOME}/.config`}/git/config`]
      : []),
    ...(env.HOME ? [`${env.HOME}/.gitconfig`] : []),
  ];
  let { name, email } = await read({});
  for (const file of files.toReversed()) {
    if (name && email) break;
    const found = await read({ GIT_CONFIG_GLOBAL: file });
    name ??= found.name;
    email ??= found.email;
  }
  return {
    ...COMMITTER,
    ...(name && { GIT_AUTHOR_NAME: name, GIT_COMMITTER_NAME: name }),
    ...(email && { GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_EMAIL: email }),
  };
}

function parseIdentity(list: Buffer): { name?: string; email?: string } {
  const values = String(list)
    .split('\0')
    .map(entry => entry.split('\n'));
  // The last value wins, as in git itself.
  const of = (key: string) => values.findLast(([name]) => name === key)?.[1];
  return { name: of('user.name'), email: of('user.email') };
}
