import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChangedFile } from '../../schema/evidence.ts';
import { eachOf, statWorkFile } from '../files/file-stamp.ts';
import { splitPaths } from '../files/paths.ts';
import { readBounded } from '../files/text-file.ts';
import { COMMITTER, parseRawDiff, type TreeChange } from './commits.ts';
import type { Git, GitRun } from './git.ts';

export interface StatusEntry {
  /** Path from the root, one character per byte. */
  path: string;
  isUntracked: boolean;
}

export interface StatusLine extends StatusEntry {
  isUnmerged: boolean;
  /** Git's status letter for the file in the folder, compared with the index. `.` means unchanged. */
  inFolder: string;
  isSubmodule: boolean;
}

export interface Status<E extends StatusEntry = StatusEntry> {
  head: string | null;
  branch: string | null;
  entries: E[];
}

const ARGUMENTS = [
  ...['status', '--porcelain=v2', '--branch', '-z', '--untracked-files=all', '--no-renames'],
  // Git must not run inside a submodule, which has its own configuration. A submodule at another commit is still
  // reported.
  ...['--ignore-submodules=dirty', '--no-ahead-behind'],
];

/** Status of the whole repository compared with HEAD, by one process. `options` are git options before the command. */
export async function readStatus(
  git: Git,
  how: GitRun = {},
  options: readonly string[] = [],
): Promise<Status<StatusLine>> {
  return parseStatus(await git.run([...options, ...ARGUMENTS], how));
}

/** Status without untracked files: git does not search for any, and reads no ignore rules. */
export async function readTrackedStatus(git: Git, how: GitRun = {}): Promise<Status> {
  return parseStatus(await git.run([...ARGUMENTS, '--untracked-files=no'], how));
}

/** Number of fields before the path, by the first letter of a line. */
const FIELDS: Record<string, number> = { '1': 8, u: 10, '?': 1 };

function parseStatus(output: Buffer): Status<StatusLine> {
  const status: Status<StatusLine> = { head: null, branch: null, entries: [] };
  for (const line of splitPaths(output)) {
    if (line.startsWith('# branch.oid ')) status.head = unless(line.slice(13), '(initial)');
    else if (line.startsWith('# branch.head '))
      status.branch = unless(Buffer.from(line.slice(14), 'latin1').toString(), '(detached)');
    const fields = FIELDS[line[0]!];
    if (fields) status.entries.push(parseLine(line, fields));
  }
  return status;
}

/** Parses `1 .M N... 100644 100644 100644 1234… 5678… path`, `u UU …` and `? path`. */
function parseLine(line: string, fields: number): StatusLine {
  const [kind] = line;
  return {
    path: afterFields(line, fields),
    isUntracked: kind === '?',
    isUnmerged: kind === 'u',
    inFolder: kind === '1' ? line[3]! : '.',
    isSubmodule: kind === '1' && line.split(' ', 6).slice(4).includes('160000'),
  };
}

const unless = (value: string, nothing: string): string | null => (value === nothing ? null : value);

function afterFields(line: string, count: number): string {
  let at = 0;
  for (let field = 0; field < count; field++) at = line.indexOf(' ', at) + 1;
  return line.slice(at);
}

export interface TrackedChange {
  path: string;
  status: ChangedFile['status'];
  /** Changed lines. Null for binary content. */
  lines: { insertions: number; deletions: number } | null;
}

/**
 * Options for every comparison, so that the repository's configuration changes neither the output nor which programs
 * run.
 */
export const PLAIN_DIFF = [
  ...['diff', '--no-ext-diff', '--no-textconv', '--no-renames', '--no-color', '--no-relative', '-O/dev/null'],
  ...['--ignore-submodules=dirty', '--submodule=short', '--diff-algorithm=default'],
];

interface TrackedChanges {
  byPath: Map<string, TrackedChange>;
  /** Why lines could not be counted. Null when they were. */
  uncounted: string | null;
}

/** Tracked files that differ between the commit `base` and the work tree, or between `base` and the commit `tip`. */
export async function trackedChanges(
  git: Git,
  base: string,
  { tip, env }: { tip?: string; env?: Record<string, string> } = {},
): Promise<TrackedChanges> {
  const list = (...more: string[]) =>
    git.run([...PLAIN_DIFF, '--raw', ...more, '-z', base, ...(tip === undefined ? [] : [tip]), '--'], {
      env,
    });
  try {
    return { byPath: parseChanges(await list('--numstat'), true), uncounted: null };
  } catch (error) {
    // If git cannot read one file, such as a pipe, it counts no lines at all, but can still name the files.
    return { byPath: parseChanges(await list(), false), uncounted: (error as Error).message };
  }
}

const COUNTS = /^(\d+|-)\t(\d+|-)\t(.*)$/s;

function parseChanges(output: Buffer, hasCounts: boolean): Map<string, TrackedChange> {
  const changes = new Map<string, TrackedChange>();
  const uncertain = new Set<string>();
  const tokens = splitPaths(output);
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]!;
    if (token.startsWith(':')) {
      const path = tokens[++at] ?? '';
      changes.set(path, { path, status: letter(token), lines: null });
      if (hasCounts && token.endsWith('M') && !changesMode(token)) uncertain.add(path);
      continue;
    }
    const [, insertions, deletions, path = ''] = COUNTS.exec(token) ?? [];
    uncertain.delete(path);
    const change = changes.get(path);
    if (change && insertions !== '-')
      change.lines = { insertions: Number(insertions), deletions: Number(deletions) };
  }
  // A file without counted lines has only a new modification time. Git lists such files unless it may refresh its
  // index.
  for (const path of uncertain) changes.delete(path);
  return changes;
}

/** Whether the mode differs in a line such as `:100644 100755 …`. */
const changesMode = (raw: string): boolean => raw.slice(1, 7) !== raw.slice(8, 14);

function letter(raw: string): TrackedChange['status'] {
  const last = raw.at(-1);
  return last === 'A' || last === 'D' || last === 'T' ? last : 'M';
}

interface TreeChanges {
  files: TreeChange[];
  /** Submodules that are at another commit than recorded. */
  submodules: string[];
}

export async function treeChanges(git: Git, from: string, to: string): Promise<TreeChanges> {
  const all = parseRawDiff(
    await git.run([...PLAIN_DIFF, '--raw', '--no-abbrev', '-z', from, to, '--'], { env: COMMITTER }),
  );
  const isSubmodule = ({ was, is }: TreeChange) => was?.mode === '160000' || is?.mode === '160000';
  return {
    files: all.filter(change => !isSubmodule(change)),
    submodules: all.filter(isSubmodule).map(({ path }) => path),
  };
}

/**
 * Ignore rules that no commit or diff shows: `core.excludesFile` (or the user's default file), then
 * `.git/info/exclude`, one character per byte. They form one list, because the last matching rule decides. Null if
 * they cannot be read.
 */
export async function readIgnoreRules(git: Git): Promise<string | null> {
  const files = [await excludesFile(git), join(git.folder.commonDir, 'info', 'exclude')];
  const texts = files.map(file => (file === null ? 'missing' : readBounded(file)));
  if (texts.includes('unfit')) return null;
  return texts.map(text => (typeof text === 'string' ? '' : rulesIn(text))).join('');
}

/** Status under earlier ignore rules, so that rules added or removed since make no difference. */
export async function readStatusUnder(git: Git, rules: string | null, how: GitRun = {}): Promise<Status> {
  if (rules === null || rules === (await readIgnoreRules(git))) return readStatus(git, how);
  const [status, untracked] = await Promise.all([
    readTrackedStatus(git, how),
    untrackedUnder(git, rules, how),
  ]);
  const entries = untracked.map(path => ({ path, isUntracked: true }));
  return { ...status, entries: [...status.entries, ...entries] };
}

/**
 * `.gitignore` files that git itself ignores, so that no diff shows them, and that were written at `since` or later.
 */
export async function hiddenIgnoreFiles(git: Git, since: number, how: GitRun = {}): Promise<string[]> {
  const ignored = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z'];
  const env = { ...how.env, GIT_LITERAL_PATHSPECS: '0' };
  const output = await git.run([...ignored, '--', ':(top,glob)**/.gitignore'], { ...how, env });
  // Git lists ignored folders without searching them.
  const paths = splitPaths(output).filter(path => /(^|\/)\.gitignore$/.test(path));
  const stats = await eachOf(paths, path => statWorkFile(git.folder.root, path));
  // Bigint stats have whole milliseconds, so `since` is rounded down.
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

/** The user's `core.excludesFile`. The setting is rare, so git runs only if a configuration file mentions it. */
async function excludesFile(git: Git): Promise<string | null> {
  const { commonDir, gitDir } = git.folder;
  const configs = [join(commonDir, 'config'), join(gitDir, 'config.worktree')];
  const texts = configs.map(readBounded);
  if (texts.some(text => /excludesfile/i.test(String(text)))) {
    const args = ['config', '--type=path', '--get', 'core.excludesFile'];
    const named = String(await git.run(args, { codes: [1] })).trimEnd();
    if (named !== '') return join(named.startsWith('/') ? '' : git.folder.root, named);
  }
  const { HOME, XDG_CONFIG_HOME } = git.env;
  if (XDG_CONFIG_HOME) return join(XDG_CONFIG_HOME, 'git', 'ignore');
  return HOME ? join(HOME, '.config', 'git', 'ignore') : null;
}

/** Rules of a file, without comments and byte order mark. Each rule ends with a line end. */
const rulesIn = (text: Buffer): string =>
  text
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
    .split('\n')
    .filter(line => line.trim() !== '' && !line.startsWith('#'))
    .map(line => `${line}\n`)
    .join('');

/**
 * Options that make git ignore what the user ignores everywhere, such as editors' folders and secrets, because these
 * must not be committed in the user's name. Git finds the default file by itself. From the user's configuration only
 * the name of another ignore file is read.
 */
export async function userExcludes(git: Git, env: Record<string, string | undefined>): Promise<string[]> {
  const { HOME, XDG_CONFIG_HOME } = env;
  if (!HOME) return [];
  const files = [join(HOME, '.gitconfig'), join(XDG_CONFIG_HOME || join(HOME, '.config'), 'git', 'config')];
  const isNaming = await Promise.all(files.map(mentionsExcludes));
  const naming = files.filter((_, at) => isNaming[at]);
  if (naming.length === 0) return [];
  // The repository's own setting takes precedence over the user's.
  const [own, ...users] = await Promise.all(
    [undefined, ...naming].map(file => configuredExcludes(git, file)),
  );
  const named = own ? undefined : users.find(answer => answer !== '');
  return named ? ['-c', `core.excludesFile=${named}`] : [];
}

/**
 * True if a git configuration file may set `core.excludesFile`. Searches the text without running git, because callers
 * wait for each git process. The setting's name has only one spelling.
 */
async function mentionsExcludes(file: string): Promise<boolean> {
  const text = await readFile(file, 'latin1').catch(() => '');
  return /excludesfile|include/i.test(text);
}

async function configuredExcludes(git: Git, userConfig?: string): Promise<string> {
  const args = ['config', '--includes', '--type=path', '--get', 'core.excludesFile'];
  const env = userConfig === undefined ? undefined : { GIT_CONFIG_GLOBAL: userConfig };
  // An unreadable configuration is ignored, because the user's own git reports it.
  return String(await git.run(args, { codes: [1], env }).catch(() => '')).trim();
}
