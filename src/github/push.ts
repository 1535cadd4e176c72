import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GitHostAccess, HostedRepository } from '../core/ports/git-host.ts';
import { SquadError } from '../schema/error.ts';
import type { Worktree } from '../schema/worktree.ts';
import { isServedBy } from './api-url.ts';
import { asGitError, type Git, type OpenGit } from './git.ts';
import { pushError } from './push-errors.ts';
import { type Protocol, parseRemoteUrl } from './remote-url.ts';

/**
 * A temporary repository that shares the objects of another. An agent can change the configuration of the repository it works in,
 * which could send the push and the token elsewhere or run a program; none of that configuration is read here.
 */
async function inScratchRepository<T>(
  openGit: OpenGit,
  { env, objectsOf, isSha256 }: { env: Record<string, string>; objectsOf: Git; isSha256: boolean },
  act: (git: Git, env: Record<string, string>, folder: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'squad-push-'));
  try {
    const gitDir = join(folder, '.git');
    await mkdir(join(gitDir, 'objects'), { recursive: true });
    await mkdir(join(gitDir, 'refs'));
    await writeFile(join(gitDir, 'HEAD'), 'ref: refs/heads/none\n');
    await writeFile(join(gitDir, 'config'), isSha256 ? SHA256 : SHA1);
    const { commonDir } = objectsOf.folder;
    // Only a shallow clone has this file.
    await copyFile(join(commonDir, 'shallow'), join(gitDir, 'shallow')).catch(() => {});
    return await act(
      await openGit(folder, env),
      { GIT_OBJECT_DIRECTORY: join(commonDir, 'objects') },
      folder,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const SHA1 = '[core]\n\trepositoryformatversion = 0\n\tbare = false\n';
const SHA256 =
  '[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectformat = sha256\n';

interface Transport {
  protocol: Protocol;
  /** Options of git itself. */
  options: string[];
  /** Options of `push`. */
  receiver: string[];
  /** Added to the usual environment. `home` is an empty folder. */
  env(home: string): Record<string, string>;
}

const CONNECT_SECONDS = 20;

function transport(repository: HostedRepository, access: GitHostAccess): Transport {
  const remote = parseRemoteUrl(repository.url, '/');
  if (!remote) throw new SquadError('INTERNAL', `Not an address: ${repository.url}`);
  const options = ['credential.helper=', 'http.followRedirects=false'].flatMap(each => ['-c', each]);
  const common = { protocol: remote.protocol, options, receiver: [] };
  switch (remote.protocol) {
    case 'file':
      return { ...common, receiver: [`--receive-pack=${RECEIVE_PACK}`], env: () => ({}) };
    case 'ssh':
      return { ...common, env: () => sshEnvironment(access) };
    default:
      return {
        ...common,
        env: home => ({
          ...picked(access.env, HTTP_NAMES),
          // Keeps git from other credentials of the user, below the real home.
          HOME: home,
          ...(isServedBy(remote, repository.apiUrl) && tokenFor(repository.url, access.token)),
        }),
      };
  }
}

/** In the environment of this one command: arguments are visible to other users, and a file would stay. */
function tokenFor(url: string, token: string): Record<string, string> {
  const basic = Buffer.from(`x-access-token:${token}`).toString('base64');
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `http.${url}.extraHeader`,
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
  };
}

/** The user's own ssh, which must fail instead of prompting. */
function sshEnvironment({ env }: GitHostAccess): Record<string, string> {
  const command = env.GIT_SSH_COMMAND?.trim() || 'ssh';
  return {
    ...picked(env, ['SSH_AUTH_SOCK']),
    GIT_SSH_COMMAND: `${command} -o BatchMode=yes -o ConnectTimeout=${CONNECT_SECONDS}`,
    GIT_SSH_VARIANT: 'ssh',
  };
}

/**
 * For a repository in a folder git itself starts the receiving side with that repository's configuration, which an agent may have
 * changed: nothing of it is run either.
 */
const RECEIVE_PACK = [
  'git',
  ...[
    'core.hooksPath=/dev/null',
    'core.fsmonitor=false',
    'core.alternateRefsCommand=true',
    'receive.autogc=false',
    // Any other value would check out files, through filters of that repository.
    'receive.denyCurrentBranch=refuse',
  ].flatMap(setting => ['-c', setting]),
  'receive-pack',
].join(' ');

const HTTP_NAMES = [
  ...['http_proxy', 'https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY', 'no_proxy', 'NO_PROXY'],
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'GIT_SSL_CAINFO', 'GIT_SSL_CAPATH'],
];

const picked = (env: Record<string, string>, names: string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap(name => (env[name] ? [[name, env[name]]] : [])));

interface PushOptions {
  openGit: OpenGit;
  timeoutMs: number;
}

const MAX_BYTES = 1024 * 1024;

/** Pushes a commit to the branch of the same name on the host. Never forced. */
export async function push(
  options: PushOptions,
  worktree: Worktree,
  commit: string,
  repository: HostedRepository,
  access: GitHostAccess,
): Promise<void> {
  await call(options, worktree, repository, access, [
    ...['push', '--porcelain', '--no-verify', '--no-signed', '--no-follow-tags', '--recurse-submodules=no'],
    ...transport(repository, access).receiver,
    ...['--', repository.url, `${commit}:refs/heads/${worktree.branch}`],
  ]);
}

/** The commit of the branch on the host. */
export async function remoteTip(
  options: PushOptions,
  worktree: Worktree,
  repository: HostedRepository,
  access: GitHostAccess,
): Promise<string | null> {
  const ref = `refs/heads/${worktree.branch}`;
  const stdout = await call(options, worktree, repository, access, ['ls-remote', '--', repository.url, ref]);
  return /^([0-9a-f]{40,64})\t/.exec(stdout)?.[1] ?? null;
}

async function call(
  { openGit, timeoutMs }: PushOptions,
  { repository: folder, branch }: Worktree,
  repository: HostedRepository,
  access: GitHostAccess,
  args: string[],
): Promise<string> {
  const { protocol, options, env } = transport(repository, access);
  const own = await openGit(folder, access.env).catch(thrown => {
    throw asGitError(thrown, folder);
  });
  const tip = await own
    .run(['rev-parse', '--verify', '--quiet', '--end-of-options', `refs/heads/${branch}^{commit}`])
    .then(found => String(found).trim())
    .catch(thrown => {
      throw new SquadError('GIT_FAILED', `There is no branch ${branch} in ${folder}`, {
        cause: thrown,
        suggestions: ['It was removed. `squad worktrees` lists the branches of runs.'],
      });
    });
  const limitMs = access.timeoutMs ?? timeoutMs;
  const objects = { env: access.env, objectsOf: own, isSha256: tip.length === 64 };
  const end = await inScratchRepository(openGit, objects, (git, scratchEnv, home) =>
    git.reach([...options, ...args], protocol, {
      env: { ...scratchEnv, ...env(home) },
      ...{ limitMs, maxBytes: MAX_BYTES },
    }),
  );
  if (end.code !== 0) throw pushError(end, { repository, access, branch, limitMs });
  return String(end.stdout);
}
