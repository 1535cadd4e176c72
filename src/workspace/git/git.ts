import { lstat, mkdir } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ProgramEnd, runProgram } from '../../process/programs/run-program.ts';
import { SquadError } from '../../schema/error.ts';
import { findGitFolder, type GitFolder } from './git-folder.ts';
import { privateGit, type Setting, settingsIn } from './private-git.ts';

/** What git itself asks before it looks at a repository, unless it is told where that is, as ours is. */
async function isOwnedBy({ root, gitDir }: GitFolder, uid: number): Promise<boolean> {
  const paths = [root, join(root, '.git'), gitDir];
  const found = await Promise.all(paths.map(path => lstat(path).catch(() => null)));
  return found.every(stats => stats === null || stats.uid === uid);
}

/** Whether values of `safe.directory` name the folder. */
const isAmong = (folders: readonly string[], root: string): boolean =>
  folders.some(
    folder =>
      folder === '*' || folder === root || (folder.endsWith('/*') && root.startsWith(folder.slice(0, -1))),
  );

/** Why git has no answer, in words for a result's note. */
export class GitError extends Error {
  /** Null when git gave none: it was not started, or not waited for. */
  readonly exitCode: number | null;
  /** What it said on standard error. */
  readonly said: string;

  constructor(message: string, end: { code: number | null; stderr: string } | null = null) {
    super(message);
    this.exitCode = end?.code ?? null;
    this.said = end?.stderr ?? '';
  }
}

/** Exit code 1 of some commands means "there is a difference", which is no failure. */
export function ignoreExitOne(error: unknown): void {
  if (!(error instanceof GitError) || error.exitCode !== 1) throw error;
}

export interface GitRun {
  maxBytes?: number;
  limitMs?: number;
  signal?: AbortSignal;
  /** What is read is wanted even when there was more of it. */
  mayBeCut?: boolean;
  /** May still have to be found out: git starts meanwhile. */
  input?: Buffer | Promise<Buffer>;
  /** Over the usual ones: an index of its own, who commits. */
  env?: Record<string, string>;
  /** Exit codes other than 0 that are answers too. */
  codes?: readonly number[];
}

export interface Git {
  folder: GitFolder;
  /** HOME and XDG_CONFIG_HOME say where the user's own files are. */
  env: Environment;
  /** Standard output, which must have come whole. Throws GitTrouble. */
  run(args: string[], how?: GitRun): Promise<Buffer>;
  /**
   * One command that may reach another repository, by this protocol and no other; how it ended, however that was. What the
   * configuration of this repository says about remotes counts: have one that nobody else writes to.
   */
  reach(args: string[], protocol: Protocol, how?: GitRun): Promise<ProgramEnd>;
}

type Protocol = 'https' | 'http' | 'ssh' | 'file';

type Environment = Record<string, string | undefined>;

const MAX_BYTES = 64 * 1024 * 1024;
const GIT_TIMEOUT_MS = 20_000;
const USUAL_PATH = '/usr/local/bin:/usr/bin:/bin';

/**
 * The one way Squad calls git. A repository's own files may name programs to run (hooks, filters, monitors, drivers,
 * transports) and an agent may have written them: none of them is run. Of its configuration git gets what is known to do no
 * harm, in a file of ours, and it reads no other.
 */
export async function openGit(
  directory: string,
  env: Environment,
  uid: number | undefined = process.geteuid?.(),
): Promise<Git> {
  const folder = await findGitFolder(directory);
  if (!folder) throw new GitError('not a git repository');
  const { root, commonDir } = folder;
  const trusted = once(async () => {
    if (uid !== undefined && !(await isOwnedBy(folder, uid)) && !(await isTrustedByUser(root, env)))
      throw new GitError(DISTRUST);
  });

  async function call(args: string[], how: GitRun): Promise<ProgramEnd> {
    // Whoever finds it out tells why it never came, perhaps before git is there to wait for it.
    if (how.input instanceof Promise) how.input.catch(() => {});
    await trusted();
    const place = await privateGit(folder!, config => readSettings(config, env));
    if (place === null) throw new GitError('the configuration of the repository cannot be read');
    // Git would make it, but not at the end of a link.
    if (args[0] === 'worktree' && args[1] === 'add')
      await mkdir(join(commonDir, 'worktrees')).catch(() => {});
    const end = await execute(root, environment(folder!, place, env), args, how);
    const named = (text: string) =>
      text.replaceAll(place, () => commonDir).replaceAll(dirname(place), () => mainRoot(commonDir));
    const stdout = args[0] === 'worktree' ? Buffer.from(named(end.stdout.toString())) : end.stdout;
    return { ...end, stdout, stderr: named(end.stderr) };
  }

  return {
    folder,
    env,
    run: async (args, how = {}) => output(await call(args, how), how),
    reach: (args, protocol, how = {}) =>
      call(args, { ...how, env: { ...how.env, GIT_ALLOW_PROTOCOL: protocol } }),
  };
}

const DISTRUST = 'git does not trust this repository, which belongs to another user (see safe.directory)';

/** As git names the main work tree. */
const mainRoot = (commonDir: string): string =>
  basename(commonDir) === '.git' ? dirname(commonDir) : commonDir;

const OFF = [
  ...['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'core.pager=cat'],
  ...['diff.external=', 'log.showSignature=false', 'protocol.allow=never', 'submodule.recurse=false'],
  // Refreshing would take the index lock, which an agent at work may need.
  'diff.autoRefreshIndex=false',
  // A file this big is compared and shown as binary, in little memory.
  'core.bigFileThreshold=8m',
].flatMap(setting => ['-c', setting]);

function execute(cwd: string, env: Record<string, string>, args: string[], how: GitRun): Promise<ProgramEnd> {
  const { limitMs = GIT_TIMEOUT_MS, maxBytes = MAX_BYTES, signal, input } = how;
  const argv = ['git', '--no-pager', ...OFF, ...args] as const;
  return runProgram({ argv, cwd, env: { ...env, ...how.env }, limitMs, maxBytes, signal, input });
}

function environment(
  { root, gitDir }: GitFolder,
  commonDir: string,
  env: Environment,
): Record<string, string> {
  return {
    ...personal(env),
    ...NO_CONFIG,
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_LITERAL_PATHSPECS: '1',
    // What we found is what is meant: not a repository further up, not a work tree its configuration points to.
    GIT_WORK_TREE: root,
    GIT_DIR: gitDir,
    GIT_COMMON_DIR: commonDir,
  };
}

const NO_CONFIG = { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };

function personal(env: Environment): Record<string, string> {
  // A relative part of PATH would be a folder of the repository.
  const path = (env.PATH || USUAL_PATH).split(':').filter(isAbsolute).join(':');
  const kept = ['HOME', 'XDG_CONFIG_HOME'].flatMap(name => (env[name] ? [[name, env[name]]] : []));
  return { ...Object.fromEntries(kept), PATH: path, LC_ALL: 'C' };
}

function output(end: ProgramEnd, { mayBeCut = false, limitMs = GIT_TIMEOUT_MS, codes = [] }: GitRun): Buffer {
  if (end.code === 0 || (end.code !== null && codes.includes(end.code)) || (end.cut === 'size' && mayBeCut))
    return end.stdout;
  throw new GitError(reason(end, limitMs), end);
}

function reason(end: ProgramEnd, limitMs: number): string {
  if (end.cut === 'missing') return 'git is not installed, or the folder is gone';
  if (end.cut === 'time') return `git needed more than ${limitMs / 1000} s`;
  if (end.cut === 'size') return 'git had too much to say';
  if (end.cut === 'abort') return 'git was no longer waited for';
  if (/not a git repository/i.test(end.stderr)) return 'not a git repository';
  const said = end.stderr.split('\n').find(line => line.startsWith('fatal:')) ?? end.stderr.split('\n')[0];
  return `git failed: ${said?.replace(/^fatal: /, '').slice(0, 200) || `exit code ${end.code}`}`;
}

/** Of a text, not of a file: that may be another one by the time git opens it. */
async function readSettings(config: Buffer, env: Environment): Promise<Setting[]> {
  const args = ['config', '--file', '-', '--no-includes', '--list', '-z'];
  const nowhere = { ...personal(env), ...NO_CONFIG, GIT_DIR: '/dev/null' };
  return settingsIn(output(await execute('/', nowhere, args, { input: config }), {}));
}

/** What the user told git to trust counts here too; only that much is taken from the user's configuration. */
async function isTrustedByUser(root: string, env: Environment): Promise<boolean> {
  const args = ['config', '--get-all', '-z', 'safe.directory'];
  const end = await execute('/', { ...personal(env), GIT_DIR: '/dev/null' }, args, {});
  return end.code === 0 && isAmong(String(end.stdout).split('\0'), root);
}

function once(act: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= act());
}

/** How long somebody else may hold one of git's locks: an agent's own commit, the user's, a gc. */
const LOCK_TIMEOUT_MS = 10_000;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 500;

/** As `git.run`, but a lock that somebody else holds is waited for. */
export async function runWithLockRetry(
  git: Git,
  args: string[],
  { timeoutMs = LOCK_TIMEOUT_MS, ...how }: GitRun & { timeoutMs?: number } = {},
): Promise<Buffer> {
  const until = performance.now() + timeoutMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
    try {
      return await git.run(args, how);
    } catch (trouble) {
      if (!isLocked(trouble) || performance.now() > until || how.signal?.aborted) throw trouble;
      await delay(pause);
    }
  }
}

const isLocked = (trouble: unknown): boolean =>
  trouble instanceof GitError && (LOCKED.test(trouble.said) || HALF_MADE.test(trouble.said));

const LOCKED = /\.lock': File exists|could not lock|another git process/i;
/** Another git is just writing down a work tree of its own, and every git reads what is there of all of them. */
const HALF_MADE = /failed to read \S*\/worktrees\/\S+\/(commondir|gitdir|HEAD)\b/;

/** What went wrong with a repository, for whoever asked. */
export function gitFailure(what: string, trouble: unknown): SquadError | unknown {
  if (!(trouble instanceof GitError)) return trouble;
  const options = { cause: trouble };
  if (trouble.message === 'not a git repository')
    return new SquadError('NOT_A_REPOSITORY', `${what}: it is not a git repository.`, options);
  if (/no space left|disk quota exceeded/i.test(trouble.said))
    return new SquadError('DISK_FULL', `${what}: the disk is full.`, {
      ...options,
      suggestions: [
        'Free some space (`squad worktrees prune` removes work trees nobody needs), then try again.',
      ],
    });
  return new SquadError('GIT_FAILED', `${what}: ${trouble.message}.`, {
    ...options,
    suggestions: [nextStep(trouble)],
  });
}

function nextStep(trouble: GitError): string {
  const [, lock] = /'([^'\n]+\.lock)': File exists/.exec(trouble.said) ?? [];
  if (lock) return `Another git holds ${lock}. If none is at work there any more, remove that file.`;
  const [, elsewhere] = /already (?:checked out|used by worktree) at '([^'\n]+)'/.exec(trouble.said) ?? [];
  if (elsewhere) return `Switch ${elsewhere} to another branch first: a branch can be checked out only once.`;
  return 'Try the same by hand in that repository: git says more there.';
}
