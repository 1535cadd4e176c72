import { dirname, isAbsolute } from 'node:path';
import { type ProgramEnd, runProgram } from '../process/run-program.ts';
import { filterNames, listedFilterNames, withoutFilters } from './git-filters.ts';
import { findGitFolder, type GitFolder, repositoryConfig } from './git-folder.ts';

/** Why git has no answer, in words for a result's note. */
export class GitTrouble extends Error {
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

export interface GitRun {
  maxBytes?: number;
  limitMs?: number;
  signal?: AbortSignal;
  /** What is read is wanted even when there was more of it. */
  mayBeCut?: boolean;
  input?: Buffer;
  /** Over the usual ones: an index of its own, who commits. */
  env?: Record<string, string>;
  /** Exit codes other than 0 that are answers too. */
  codes?: readonly number[];
}

export interface Git {
  folder: GitFolder;
  /** Standard output, which must have come whole. Throws GitTrouble. */
  run(args: string[], how?: GitRun): Promise<Buffer>;
  /**
   * One command that may reach another repository, by this protocol and no other; how it ended, however that was. What the
   * configuration of this repository says about remotes, addresses and credentials counts: have one that nobody else writes to.
   */
  reach(args: string[], protocol: Protocol, how?: GitRun): Promise<ProgramEnd>;
}

type Protocol = 'https' | 'http' | 'ssh' | 'file';

type Environment = Record<string, string | undefined>;

const MAX_BYTES = 64 * 1024 * 1024;
const LIMIT_MS = 20_000;
const USUAL_PATH = '/usr/local/bin:/usr/bin:/bin';

/**
 * The one way Squad calls git. A repository's own files may name programs to run (hooks, filters, monitors, drivers,
 * transports) and an agent may have written them: none of them is run, and no configuration but the repository's is read.
 */
export async function openGit(directory: string, env: Environment): Promise<Git> {
  const folder = await findGitFolder(directory);
  if (!folder) throw new GitTrouble('not a git repository');
  const variables = environment(folder, env);
  let trusted: string[] = [];

  async function run(args: string[], how: GitRun = {}): Promise<Buffer> {
    const options = await filtersOff();
    const call = () => execute(folder!.root, variables, [...trusted, ...options, ...args], how);
    const end = await call();
    if (!isDistrusted(end)) return output(end, how);
    trusted = await userTrust(folder!.root, env);
    return output(trusted.length > 0 ? await call() : end, how);
  }

  async function reach(args: string[], protocol: Protocol, how: GitRun = {}): Promise<ProgramEnd> {
    const env = { ...how.env, GIT_ALLOW_PROTOCOL: protocol };
    return execute(folder!.root, variables, [...trusted, ...(await filtersOff()), ...args], { ...how, env });
  }

  /** Read anew for each call: an agent may have changed them in between. */
  async function filtersOff(): Promise<string[]> {
    const read = filterNames(await repositoryConfig(folder!));
    const names = read === 'ask' ? listedFilterNames(await listConfig()) : read;
    const options = withoutFilters(names);
    if (!options) throw new GitTrouble('the repository has a filter that cannot be switched off');
    return options;
  }

  async function listConfig(): Promise<string> {
    const args = ['config', '--includes', '--list', '--name-only', '-z'];
    return String(output(await execute(folder!.root, variables, [...trusted, ...args], {}), {}));
  }

  return { folder, run, reach };
}

const OFF = [
  ...['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'core.pager=cat'],
  ...['diff.external=', 'log.showSignature=false', 'protocol.allow=never', 'submodule.recurse=false'],
  // Refreshing would take the index lock, which an agent at work may need.
  'diff.autoRefreshIndex=false',
  // A file this big is compared and shown as binary, in little memory.
  'core.bigFileThreshold=8m',
].flatMap(setting => ['-c', setting]);

function execute(cwd: string, env: Record<string, string>, args: string[], how: GitRun): Promise<ProgramEnd> {
  const { limitMs = LIMIT_MS, maxBytes = MAX_BYTES, signal, input } = how;
  const argv = ['git', '--no-pager', ...OFF, ...args] as const;
  return runProgram({ argv, cwd, env: { ...env, ...how.env }, limitMs, maxBytes, signal, input });
}

function environment({ root }: GitFolder, env: Environment): Record<string, string> {
  return {
    ...personal(env),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_LITERAL_PATHSPECS: '1',
    // What we found is what is meant: not a repository further up, not a work tree its configuration points to.
    GIT_WORK_TREE: root,
    GIT_CEILING_DIRECTORIES: dirname(root),
    GIT_DISCOVERY_ACROSS_FILESYSTEM: '1',
  };
}

function personal(env: Environment): Record<string, string> {
  // A relative part of PATH would be a folder of the repository.
  const path = (env.PATH || USUAL_PATH).split(':').filter(isAbsolute).join(':');
  const kept = ['HOME', 'XDG_CONFIG_HOME'].flatMap(name => (env[name] ? [[name, env[name]]] : []));
  return { ...Object.fromEntries(kept), PATH: path, LC_ALL: 'C' };
}

function output(end: ProgramEnd, { mayBeCut = false, limitMs = LIMIT_MS, codes = [] }: GitRun): Buffer {
  if (end.code === 0 || (end.code !== null && codes.includes(end.code)) || (end.cut === 'size' && mayBeCut))
    return end.stdout;
  throw new GitTrouble(reason(end, limitMs), end);
}

function reason(end: ProgramEnd, limitMs: number): string {
  if (end.cut === 'missing') return 'git is not installed, or the folder is gone';
  if (end.cut === 'time') return `git needed more than ${limitMs / 1000} s`;
  if (end.cut === 'size') return 'git had too much to say';
  if (end.cut === 'abort') return 'git was no longer waited for';
  if (isDistrusted(end))
    return 'git does not trust this repository, which belongs to another user (see safe.directory)';
  if (/not a git repository/i.test(end.stderr)) return 'not a git repository';
  const said = end.stderr.split('\n').find(line => line.startsWith('fatal:')) ?? end.stderr.split('\n')[0];
  return `git failed: ${said?.replace(/^fatal: /, '').slice(0, 200) || `exit code ${end.code}`}`;
}

const isDistrusted = ({ code, stderr }: ProgramEnd): boolean =>
  code === 128 && /dubious ownership|unsafe repository/.test(stderr);

/** What the user told git to trust counts here too; only that much is taken from the user's configuration. */
async function userTrust(root: string, env: Environment): Promise<string[]> {
  const args = ['config', '--get-all', '-z', 'safe.directory'];
  const end = await execute('/', personal(env), args, {});
  const folders = end.code === 0 ? String(end.stdout).split('\0') : [];
  const isTrusted = folders.some(
    folder =>
      folder === '*' || folder === root || (folder.endsWith('/*') && root.startsWith(folder.slice(0, -1))),
  );
  return isTrusted ? ['-c', `safe.directory=${root}`] : [];
}
