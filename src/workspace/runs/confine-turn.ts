import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import type { SandboxNeeds } from '../../core/ports/engine.ts';
import type { RunFiles } from '../../core/ports/run-files.ts';
import type { Mount, TurnRef, TurnSandbox } from '../../core/ports/turns.ts';
import type { Worktrees } from '../../core/ports/worktrees.ts';
import { folderBelow, realFolder, writeBelow } from '../../process/output/own-folder.ts';
import { toolchainFolders } from '../../process/programs/program-folders.ts';
import { runProgram } from '../../process/programs/run-program.ts';
import { SquadError } from '../../schema/error.ts';
import type { Run } from '../../schema/run.ts';
import { isInside } from '../files/paths.ts';

interface ConfinePorts {
  files: Pick<RunFiles, 'chatFolder' | 'chatHome' | 'path'>;
  worktrees: Pick<Worktrees, 'confine'>;
  /** The folder of Squad's own files. */
  squadHome: string;
  /** Whether the agent of another run is using the same work tree now. */
  isShared(run: Run): boolean;
}

export interface ConfinedTurn {
  sandbox: TurnSandbox;
  /** Variables with the user's name and address for commits. The sandbox hides the user's own git configuration. */
  identity: Record<string, string>;
}

/** Folders that every sandbox has. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/etc', '/proc', '/dev'];
/** HOME inside the sandbox if the environment has no usable HOME. */
const NO_HOME = '/home/agent';

/**
 * Creates the mounts of a turn, the chat's HOME and the files in it. No process of an earlier turn of the chat may be
 * running. The set-up of a work tree gets the sandbox of a turn that may write, without the login.
 */
export const createConfineTurn =
  ({ files, worktrees, squadHome, isShared }: ConfinePorts) =>
  async (
    run: Run,
    turn: TurnRef,
    given: SandboxNeeds,
    env: Record<string, string>,
    purpose: 'turn' | 'set-up' = 'turn',
  ): Promise<ConfinedTurn> => {
    const isSetUp = purpose === 'set-up';
    const needs = isSetUp ? { ...given, login: [], writes: [] } : given;
    const { engine, chatId, id, directory, worktree, options } = run;
    const chatHome = files.chatHome(engine, chatId ?? id);
    const home = env.HOME?.startsWith('/') && resolve(env.HOME) !== '/' ? resolve(env.HOME) : NO_HOME;
    if (!worktree) refuseAround(directory, [home, squadHome]);
    const access = !isSetUp && (options.permission === 'read' || needs.isReadOnly) ? 'read' : 'write';
    const hidden = [home, realOf(home), squadHome, worktree?.path ?? directory];
    // No sandboxed agent can write to a folder around the home.
    const writable = [worktree?.path ?? directory, worktree?.repository ?? run.workspace]
      .map(realOf)
      .filter(folder => !isInside(folder, realOf(home)));
    const isHarmless = (path: string) =>
      !SYSTEM.some(system => isInside(system, path)) &&
      !hidden.some(folder => isInside(path, folder)) &&
      !leadsOut(path, writable);
    const read = [
      ...[...toolchainFolders(env), ...certificates(env), ...options.sandbox.read].filter(
        path => !isInside(squadHome, path),
      ),
      ...needs.programs,
      ...(worktree ? linkedFolders(worktree) : []),
    ].filter(isHarmless);
    const chatFolder = files.chatFolder(engine, chatId ?? id);
    const turnFolder = dirname(files.path(turn, 'prompt.md'));
    const writes = needs.writes.map(name => files.path(turn, name));
    const login = needs.login.filter(({ isCopied, from }) => !isCopied && existsSync(from));
    const mounts: Mount[] = [
      { path: home, from: chatHome, access: 'write' },
      ...[...new Set(read)].sort().map(path => readIn(path, writable)),
      ...login.map(({ from, path }) => ({ ...readOnly(from), path })),
      { path: chatFolder, from: chatFolder, access: 'write' },
      { path: turnFolder, from: turnFolder, access: 'read' },
      ...writes.map((path): Mount => ({ path, from: path, access: 'write' })),
      ...(worktree
        ? await worktrees.confine(worktree, isSetUp ? 'set-up' : access, isShared(run))
        : folderMounts(directory, access)),
    ];
    folderBelow(chatFolder, relative(chatFolder, chatHome));
    for (const path of writes) realFolder(path);
    for (const mount of mounts) prepareMountPoint(mount, mounts, { home, chatHome });
    for (const { from, path, isCopied } of needs.login)
      if (isCopied && existsSync(from) && isInside(home, path))
        writeBelow(chatHome, relative(home, path), readFileSync(from));
    return {
      sandbox: {
        ...{ mounts, home, network: options.sandbox.network },
        hosts: hostsOf(run, needs),
      },
      identity: await gitIdentity(directory, env),
    };
  };

/** The plan of the run has compared the paths as text. Links can hide that one folder is inside the other. */
function refuseAround(directory: string, folders: readonly string[]): void {
  const hidden = folders.find(folder => isInside(directory, realOf(folder)));
  if (hidden === undefined) return;
  throw new SquadError(
    'SANDBOX_UNAVAILABLE',
    `The run's folder ${directory} contains ${hidden}, which a sandbox must hide`,
    { suggestions: ['Start the run in a folder of the project.'] },
  );
}

const readOnly = (path: string): Mount => ({ path, from: path, access: 'read', isOptional: true });

const hostsOf = ({ options: { sandbox } }: Run, { hosts }: SandboxNeeds): string[] =>
  sandbox.network === 'full'
    ? []
    : [...new Set([...sandbox.hosts, ...(sandbox.network === 'models' ? hosts : [])])];

/**
 * Mounts for a run without a work tree. Its `.git` is read-only, so that the agent cannot change hooks or git settings.
 */
function folderMounts(directory: string, access: Mount['access']): Mount[] {
  const git = join(directory, '.git');
  const found = lstatSync(git, { throwIfNoEntry: false });
  const isGit = found?.isDirectory() || found?.isFile();
  return [
    { path: directory, from: directory, access, isWithoutLinks: true },
    ...(access === 'write' && isGit ? [{ ...readOnly(git), isWithoutLinks: true }] : []),
  ];
}

/**
 * A folder of the user may be in a folder that agents can write to, such as `node_modules/.bin` of a project in PATH.
 * An agent could replace it by a link to any other folder of the user.
 */
function readIn(path: string, writable: readonly string[]): Mount {
  const real = realOf(path);
  return writable.some(folder => isInside(folder, real))
    ? { ...readOnly(real), path, isWithoutLinks: true }
    : readOnly(path);
}

/** Whether the path follows a link in one of these folders to a place outside of it. */
function leadsOut(path: string, folders: readonly string[]): boolean {
  const real = realOf(path);
  const left = folders.filter(folder => !isInside(folder, real));
  if (left.length === 0) return false;
  const rest = path.split('/').filter(Boolean);
  let at = '/';
  for (let followed = 0; rest.length > 0 && followed <= MAX_LINKS; ) {
    const next = join(at, rest.shift()!);
    const target = linkTarget(next);
    if (target === null) {
      at = next;
      continue;
    }
    if (left.some(folder => isInside(folder, next))) return true;
    followed++;
    rest.unshift(...resolve(at, target).split('/').filter(Boolean));
    at = '/';
  }
  return false;
}

/** Maximum number of symbolic links in a path, as in the kernel. */
const MAX_LINKS = 40;

function linkTarget(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null; // not a link, or does not exist
  }
}

const CERTIFICATES = [
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'],
];
const certificates = (env: Record<string, string>): string[] =>
  CERTIFICATES.flatMap(name => (env[name]?.startsWith('/') ? [env[name]] : []));

/**
 * Names of folders with installed packages, which a set-up may link from the user's checkout instead of copying them.
 */
const PACKAGES = new Set(['node_modules', '.venv', 'venv', 'vendor', 'target', '.gradle', 'Pods']);
const MAX_DEPTH = 3;
/** Search limit, because the start of an agent waits for the search. */
const MAX_FOLDERS = 300;

/**
 * Counts a link only if it leads to the same place in the user's checkout. An agent can create links too, and must not
 * use them to read other files.
 */
function linkedFolders({ path: tree, repository }: { path: string; repository: string }): string[] {
  const found: string[] = [];
  let folders = 0;
  const search = (folder: string, depth: number): void => {
    if (++folders > MAX_FOLDERS) return;
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isSymbolicLink() && PACKAGES.has(entry.name)) {
        const target = resolve(folder, readlinkSync(path));
        const own = join(repository, relative(tree, path));
        if (target === own && realOf(own) === own) found.push(own);
      } else if (
        entry.isDirectory() &&
        depth < MAX_DEPTH &&
        !PACKAGES.has(entry.name) &&
        !entry.name.startsWith('.')
      )
        search(path, depth + 1);
    }
  };
  try {
    search(tree, 1);
  } catch (thrown) {
    // A folder that cannot be read, or changes meanwhile, has no packages for the agent.
    if ((thrown as NodeJS.ErrnoException).code === undefined) throw thrown;
  }
  return found;
}

/**
 * Creates the mount point in the chat's HOME. Otherwise bubblewrap would create it and follow links that an agent has
 * left there.
 */
function prepareMountPoint(
  { path, from }: Mount,
  mounts: readonly Mount[],
  { home, chatHome }: { home: string; chatHome: string },
): void {
  if (path === home || !isInside(home, path)) return;
  // If the path is inside another mount, that mount's folder already has it.
  const below = mounts.findLast(other => other.path !== path && isInside(other.path, path));
  if (below && below.path !== home) return;
  const source = from === null ? null : statSync(from, { throwIfNoEntry: false });
  if (source === undefined) return;
  const place = relative(home, path);
  if (source && !source.isDirectory()) writeBelow(chatHome, place, '');
  else folderBelow(chatHome, place);
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // the path does not exist
  }
}

const GIT_TIMEOUT_MS = 5_000;

/** Name and email as git finds them in the folder. Empty if none is set. */
async function gitIdentity(cwd: string, env: Record<string, string>): Promise<Record<string, string>> {
  const { stdout } = await runProgram({
    argv: ['git', 'config', '--null', '--get-regexp', '^user\\.(name|email)$'],
    cwd,
    env,
    limitMs: GIT_TIMEOUT_MS,
    maxBytes: 16 * 1024,
  }).catch(() => ({ stdout: Buffer.alloc(0) })); // without git nobody makes commits
  // The last value of a key counts.
  const values = new Map(
    stdout
      .toString('utf8')
      .split('\0')
      .map(entry => entry.split('\n', 2) as [string, string]),
  );
  const variables = { NAME: values.get('user.name'), EMAIL: values.get('user.email') };
  return Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]) =>
      value ? [`GIT_AUTHOR_${name}`, `GIT_COMMITTER_${name}`].map(key => [key, value]) : [],
    ),
  );
}
