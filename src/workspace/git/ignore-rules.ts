import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eachOf, statWorkFile } from '../files/file-stamp.ts';
import { splitPaths } from '../files/paths.ts';
import { readBounded } from '../files/text-file.ts';
import type { Git, GitRun } from './git.ts';
import { readStatus, readTrackedStatus, type Status } from './git-status.ts';

/**
 * Ignore rules that no commit or diff shows: `core.excludesFile` (or the user's default file), then `.git/info/exclude`, one
 * character per byte. The last rule that matches decides, so the two are one list. Null: they cannot be read.
 */
export async function readIgnoreRules(git: Git): Promise<string | null> {
  const files = [await excludesFile(git), join(git.folder.commonDir, 'info', 'exclude')];
  const texts = await Promise.all(files.map(file => (file === null ? 'missing' : readBounded(file))));
  if (texts.includes('unfit')) return null;
  return texts.map(text => (typeof text === 'string' ? '' : rulesIn(text))).join('');
}

/** The status under earlier rules, so that rules added or removed since then make no difference. */
export async function readStatusUnder(git: Git, rules: string | null, how: GitRun = {}): Promise<Status> {
  if (rules === null || rules === (await readIgnoreRules(git))) return readStatus(git, how);
  const [status, untracked] = await Promise.all([
    readTrackedStatus(git, how),
    untrackedUnder(git, rules, how),
  ]);
  const entries = untracked.map(path => ({ path, isUntracked: true }));
  return { ...status, entries: [...status.entries, ...entries] };
}

/** `.gitignore` files that git ignores, so that no diff shows them, and that were written at `since` or later. */
export async function hiddenIgnoreFiles(git: Git, since: number, how: GitRun = {}): Promise<string[]> {
  const ignored = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z'];
  const env = { ...how.env, GIT_LITERAL_PATHSPECS: '0' };
  const output = await git.run([...ignored, '--', ':(top,glob)**/.gitignore'], { ...how, env });
  // Ignored folders are listed too, because git does not search them.
  const paths = splitPaths(output).filter(path => /(^|\/)\.gitignore$/.test(path));
  const stats = await eachOf(paths, path => statWorkFile(git.folder.root, path));
  // A stat with bigints has whole milliseconds.
  return paths.filter((_, at) => Number(stats[at]?.ctimeMs ?? 0) >= Math.floor(since));
}

async function untrackedUnder(git: Git, rules: string, how: GitRun): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'squad-ignore-'));
  try {
    const file = join(folder, 'rules');
    await writeFile(file, rules, 'latin1');
    const excludes = ['--exclude-per-directory=.gitignore', `--exclude-from=${file}`];
    return splitPaths(await git.run(['ls-files', '--others', '-z', ...excludes], how));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The setting is rare: git runs only if a configuration file mentions it. */
async function excludesFile(git: Git): Promise<string | null> {
  const { commonDir, gitDir } = git.folder;
  const configs = [join(commonDir, 'config'), join(gitDir, 'config.worktree')];
  const texts = await Promise.all(configs.map(readBounded));
  if (texts.some(text => /excludesfile/i.test(String(text)))) {
    const args = ['config', '--type=path', '--get', 'core.excludesFile'];
    const named = String(await git.run(args, { codes: [1] })).trimEnd();
    if (named !== '') return join(named.startsWith('/') ? '' : git.folder.root, named);
  }
  const { HOME, XDG_CONFIG_HOME } = git.env;
  if (XDG_CONFIG_HOME) return join(XDG_CONFIG_HOME, 'git', 'ignore');
  return HOME ? join(HOME, '.config', 'git', 'ignore') : null;
}

/** Without comments and byte order mark; each rule ends with a line end. */
const rulesIn = (text: Buffer): string =>
  text
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
    .split('\n')
    .filter(line => line.trim() !== '' && !line.startsWith('#'))
    .map(line => `${line}\n`)
    .join('');

/**
 * Options that make git apply the global ignore file of the user, so that editor folders and secrets are not committed.
 * Git finds the default file by itself; from the configuration of the user only `core.excludesFile` is read.
 */
export async function userExcludes(git: Git, env: Record<string, string | undefined>): Promise<string[]> {
  const { HOME, XDG_CONFIG_HOME } = env;
  if (!HOME) return [];
  const files = [join(HOME, '.gitconfig'), join(XDG_CONFIG_HOME || join(HOME, '.config'), 'git', 'config')];
  const isNaming = await Promise.all(files.map(mentionsExcludes));
  const naming = files.filter((_, at) => isNaming[at]);
  if (naming.length === 0) return [];
  // The repository's own configuration wins.
  const [own, ...users] = await Promise.all(
    [undefined, ...naming].map(file => configuredExcludes(git, file)),
  );
  const named = own ? undefined : users.find(answer => answer !== '');
  return named ? ['-c', `core.excludesFile=${named}`] : [];
}

/** Setting names have one spelling; each git process saved is time that somebody would wait. */
async function mentionsExcludes(file: string): Promise<boolean> {
  const text = await readFile(file, 'latin1').catch(() => '');
  return /excludesfile|include/i.test(text);
}

async function configuredExcludes(git: Git, userConfig?: string): Promise<string> {
  const args = ['config', '--includes', '--type=path', '--get', 'core.excludesFile'];
  const env = userConfig === undefined ? undefined : { GIT_CONFIG_GLOBAL: userConfig };
  // The user's own git reports a configuration that it cannot read.
  return String(await git.run(args, { codes: [1], env }).catch(() => '')).trim();
}
