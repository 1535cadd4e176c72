import { lstatSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ProgramEnd, runProgram } from '../../process/programs/run-program.ts';
import { SquadError } from '../../schema/error.ts';
import { findGitFolder, type GitFolder } from './git-folder.ts';
import { privateGit, type Setting, settingsAt, settingsIn } from './private-git.ts';

/** Whether the user owns the repository. Git checks this itself, except when it is given the paths, as Squad does. */
function isOwnedBy({ root, gitDir }: GitFolder, uid: number): boolean {
  return [root, join(root, '.git'), gitDir].every(path => {
    try {
      return lstatSync(path).uid === uid;
    } catch {
      return true; // a missing path, or one that git cannot read either, does no harm
    }
  });
}

/** Whether one of the `safe.directory` values names the folder. */
const isAmong = (folders: readonly string[], root: string): boolean =>
  folders.some(
    folder =>
      folder === '*' || folder === root || (folder.endsWith('/*') && root.startsWith(folder.slice(0, -1))),
  );

/** An error of git. Its message can be used as a note in a result. */
export class GitError extends Error {
  /** Null if git was not started, or was cancelled. */
  readonly exitCode: number | null;
  /** Standard error of git. */
  readonly said: string;

  constructor(message: string, end: { code: number | null; stderr: string } | null = null) {
    super(message);
    this.exitCode = end?.code ?? null;
    this.said = end?.stderr ?? '';
  }
}

/** Ignores exit code 1, with which some commands report a difference. */
export function ignoreExitOne(error: unknown): void {
  if (!(error instanceof GitError) || error.exitCode !== 1) throw error;
}

export interface GitRun {
  maxBytes?: number;
  limitMs?: number;
  signal?: AbortSignal;
  /** True to accept output that was cut at `maxBytes`. */
  mayBeCut?: boolean;
  /** Standard input. If it is a promise, git starts before the input is known. */
  input?: Buffer | Promise<Buffer>;
  /** Additional variables, for example for another index or another author. */
  env?: Record<string, string>;
  /** Exit codes other than 0 that also mean success. */
  codes?: readonly number[];
  /** Memory limit of git, for content with which an agent could make git use all memory of the machine. */
  maxMemoryBytes?: number;
}

export interface Git {
  folder: GitFolder;
  /** Environment of git. Its HOME and XDG_CONFIG_HOME lead to the user's own git configuration. */
  env: Environment;
  /** Returns the complete standard output. Throws GitError. */
  run(args: string[], how?: GitRun): Promise<Buffer>;
  /**
   * Runs a command that may contact another repository, only by this protocol. Never throws because of an exit code.
   * The repository's configuration of remotes applies, so use a repository that nobody else writes to.
   */
  reach(args: string[], protocol: Protocol, how?: GitRun): Promise<ProgramEnd>;
}

type Protocol = 'https' | 'http' | 'ssh' | 'file';

export type Environment = Record<string, string | undefined>;

const MAX_BYTES = 64 * 1024 * 1024;
const GIT_TIMEOUT_MS = 20_000;
const USUAL_PATH = '/usr/local/bin:/usr/bin:/bin';

/**
 * Opens a repository. Squad runs git only this way. A repository's files may name programs (hooks, filters, monitors,
 * drivers, transports), and an agent may have written those files, so git must run none of them. Git reads only a
 * configuration file that Squad writes, with those of the repository's settings that are known to be harmless.
 */
export async function openGit(
  directory: string,
  env: Environment,
  uid: number | undefined = process.geteuid?.(),
): Promise<Git> {
  const folder = await findGitFolder(directory);
  if (!folder) throw new GitError('not a git repository');
  for (const prepare of preparations) await prepare(folder);
  return gitIn(folder, env, uid);
}

type Preparation = (folder: GitFolder) => Promise<void>;
const preparations = new Set<Preparation>();

/** Registers work that is done before Squad reads any repository: commits of sandboxed agents are brought into it. */
export const beforeOpening = (prepare: Preparation): void => void preparations.add(prepare);

/** Like `openGit`, for folders that are already known. Runs none of the registered preparations. */
export function gitIn(
  folder: GitFolder,
  env: Environment,
  uid: number | undefined = process.geteuid?.(),
): Git {
  const { root, commonDir } = folder;
  let trusted: Promise<void> | undefined;
  const checkTrust = async () => {
    if (uid !== undefined && !isOwnedBy(folder, uid) && !(await isTrustedByUser(root, env)))
      throw new GitError(DISTRUST);
  };

  async function call(args: string[], how: GitRun): Promise<ProgramEnd> {
    // The input may be rejected before git reads it. Whoever produces the input reports that error.
    if (how.input instanceof Promise) how.input.catch(() => {});
    trusted ??= checkTrust();
    await trusted;
    const place = await privateGit(folder, config => readSettings(config, env));
    if (place === null) throw new GitError('the configuration of the repository cannot be read');
    // Git would create this folder itself, but cannot do so through Squad's link.
    if (args[0] === 'worktree' && args[1] === 'add')
      await mkdir(join(commonDir, 'worktrees')).catch(() => {});
    const end = await execute(root, environment(folder, place, env), args, how);
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

/** Path of the main work tree, in the form in which git prints it. */
const mainRoot = (commonDir: string): string =>
  basename(commonDir) === '.git' ? dirname(commonDir) : commonDir;

const OFF = [
  ...['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'core.pager=cat'],
  ...['diff.external=', 'log.showSignature=false', 'protocol.allow=never', 'submodule.recurse=false'],
  // Refreshing would lock the index, which an agent may need.
  'diff.autoRefreshIndex=false',
  // Larger files are treated as binary, which needs little memory.
  'core.bigFileThreshold=8m',
].flatMap(setting => ['-c', setting]);

function execute(cwd: string, env: Record<string, string>, args: string[], how: GitRun): Promise<ProgramEnd> {
  const { limitMs = GIT_TIMEOUT_MS, maxBytes = MAX_BYTES, signal, input, maxMemoryBytes } = how;
  const command = ['git', '--no-pager', ...OFF, ...args] as const;
  const argv = maxMemoryBytes === undefined ? command : withMemory(maxMemoryBytes, command);
  return runProgram({ argv, cwd, env: { ...env, ...how.env }, limitMs, maxBytes, signal, input });
}

/** Limits the memory that a process allocates. Files that it maps, such as packs, are not counted. */
const withMemory = (bytes: number, argv: readonly string[]) =>
  [
    '/bin/sh',
    '-c',
    'ulimit -d "$1" || exit; shift; exec "$@"',
    'sh',
    String(Math.floor(bytes / 1024)),
    ...argv,
  ] as const;

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
    // Names exactly the folder that was found, so that git uses neither a repository further up nor a work tree from
    // the configuration.
    GIT_WORK_TREE: root,
    GIT_DIR: gitDir,
    GIT_COMMON_DIR: commonDir,
  };
}

const NO_CONFIG = { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };

function personal(env: Environment): Record<string, string> {
  // A relative entry of PATH would mean a folder of the repository.
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
  if (end.cut === 'time') return `git took more than ${limitMs / 1000} s`;
  if (end.cut === 'size') return 'the output of git is too large';
  if (end.cut === 'abort') return 'git was cancelled';
  if (/not a git repository/i.test(end.stderr)) return 'not a git repository';
  const said = end.stderr.split('\n').find(line => line.startsWith('fatal:')) ?? end.stderr.split('\n')[0];
  return `git failed: ${said?.replace(/^fatal: /, '').slice(0, 200) || `exit code ${end.code}`}`;
}

/** Reads settings from a text instead of the file, because an agent could replace the file before git opens it. */
async function readSettings(config: Buffer, env: Environment): Promise<Setting[]> {
  const args = ['config', '--file', '-', '--no-includes', '--list', '-z'];
  const nowhere = { ...personal(env), ...NO_CONFIG, GIT_DIR: '/dev/null' };
  return settingsIn(output(await execute('/', nowhere, args, { input: config }), {}));
}

/** Settings in a configuration file, without included files. Null if the file cannot be read. */
export const settingsOf = (file: string, env: Environment): Promise<Setting[] | null> =>
  settingsAt(file, config => readSettings(config, env));

/** Reads only `safe.directory` from the user's configuration. */
async function isTrustedByUser(root: string, env: Environment): Promise<boolean> {
  const args = ['config', '--get-all', '-z', 'safe.directory'];
  const end = await execute('/', { ...personal(env), GIT_DIR: '/dev/null' }, args, {});
  return end.code === 0 && isAmong(String(end.stdout).split('\0'), root);
}

/** How long Squad waits for a lock that another git holds, such as an agent's commit, the user's git or a gc. */
const LOCK_TIMEOUT_MS = 10_000;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 500;

/** Like `git.run`, but waits for a lock that another git holds. */
export async function runWithLockRetry(
  git: Git,
  args: string[],
  { timeoutMs = LOCK_TIMEOUT_MS, ...how }: GitRun & { timeoutMs?: number } = {},
): Promise<Buffer> {
  const until = performance.now() + timeoutMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
    try {
      return await git.run(args, how);
    } catch (error) {
      if (!isLocked(error) || performance.now() > until || how.signal?.aborted) throw error;
      await delay(pause);
    }
  }
}

const isLocked = (error: unknown): boolean =>
  error instanceof GitError && (LOCKED.test(error.said) || INCOMPLETE.test(error.said));

const LOCKED = /\.lock': File exists|could not lock|another git process/i;
/** Error of git while another git is adding a work tree, because every git reads the records of all work trees. */
const INCOMPLETE = /failed to read \S*\/worktrees\/\S+\/(commondir|gitdir|HEAD)\b/;

/** Turns an error of git into an error for the user. Returns other errors unchanged. */
export function gitFailure(what: string, error: unknown): SquadError | unknown {
  if (!(error instanceof GitError)) return error;
  const options = { cause: error };
  if (error.message === 'not a git repository')
    return new SquadError('NOT_A_REPOSITORY', `${what}: it is not a git repository.`, options);
  if (/no space left|disk quota exceeded/i.test(error.said))
    return new SquadError('DISK_FULL', `${what}: the disk is full.`, {
      ...options,
      suggestions: [
        'Free some space (`squad worktrees prune` removes work trees without unmerged work), then try again.',
      ],
    });
  return new SquadError('GIT_FAILED', `${what}: ${error.message}.`, {
    ...options,
    suggestions: [nextStep(error)],
  });
}

function nextStep({ said }: GitError): string {
  const [, lock] = /'([^'\n]+\.lock)': File exists/.exec(said) ?? [];
  if (lock)
    return `Another git process holds the lock file ${lock}. If no git is running there any more, remove the file.`;
  const [, elsewhere] = /already (?:checked out|used by worktree) at '([^'\n]+)'/.exec(said) ?? [];
  if (elsewhere) return `Switch ${elsewhere} to another branch first: a branch can be checked out only once.`;
  return 'Run git in that repository yourself: it reports more there.';
}
