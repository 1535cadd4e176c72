import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ForgeAccess, ForgeRepository } from '../core/ports/git-host.ts';
import type { ProgramEnd } from '../process/programs/run-program.ts';
import { SquadError } from '../schema/error.ts';
import type { Worktree } from '../schema/worktree.ts';
import { isServedBy } from './api-url.ts';
import { asGitError, type Git, type OpenGit } from './git.ts';
import { pushError } from './push-errors.ts';
import { type Protocol, parseRemoteUrl } from './remote-url.ts';

/**
 * A repository of our own for as long as one push takes, with the objects of another. An agent can write the configuration of
 * the repository it works in, and that could send a push and the token elsewhere, or run something; none of it is read here.
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
    // Where history was cut off; most repositories have none of it.
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

/** How git gets to the repository. */
interface Transport {
  protocol: Protocol;
  /** Options of git itself. */
  options: string[];
  /** Options of `push`. */
  receiver: string[];
  /** Over the usual ones; `home` is a folder with nothing in it. */
  env(home: string): Record<string, string>;
}

const CONNECT_SECONDS = 20;

function transport(repository: ForgeRepository, access: ForgeAccess): Transport {
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
          // Other passwords of the user's are kept below the home.
          HOME: home,
          ...(isServedBy(remote, repository.apiUrl) && tokenFor(repository.url, access.token)),
        }),
      };
  }
}

/** In the environment of this one command: not among arguments, which everybody sees, and in no file. */
function tokenFor(url: string, token: string): Record<string, string> {
  const basic = Buffer.from(`x-access-token:${token}`).toString('base64');
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `http.${url}.extraHeader`,
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
  };
}

/** The user's own way, asked to fail where it would have to ask somebody. */
function sshEnvironment({ env }: ForgeAccess): Record<string, string> {
  const command = env.GIT_SSH_COMMAND?.trim() || 'ssh';
  return {
    ...picked(env, ['SSH_AUTH_SOCK']),
    GIT_SSH_COMMAND: `${command} -o BatchMode=yes -o ConnectTimeout=${CONNECT_SECONDS}`,
    GIT_SSH_VARIANT: 'ssh',
  };
}

/**
 * For a repository in a folder git starts the other side itself, in that repository and with its configuration, which an
 * agent may have written: there, too, nothing is run.
 */
const RECEIVE_PACK = [
  'git',
  ...[
    'core.hooksPath=/dev/null',
    'core.fsmonitor=false',
    'core.alternateRefsCommand=true',
    'receive.autogc=false',
    // Another value would check files out, through that repository's filters.
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

interface Reach {
  openGit: OpenGit;
  pushLimitMs: number;
}

const MAX_BYTES = 1024 * 1024;

/** A commit of the branch, to the same name on the host. Never forced. */
export async function push(
  reach: Reach,
  worktree: Worktree,
  commit: string,
  repository: ForgeRepository,
  access: ForgeAccess,
): Promise<void> {
  const end = await call(reach, worktree, repository, access, [
    ...['push', '--porcelain', '--no-verify', '--no-signed', '--no-follow-tags', '--recurse-submodules=no'],
    ...transport(repository, access).receiver,
    ...['--', repository.url, `${commit}:refs/heads/${worktree.branch}`],
  ]);
  if (end.code !== 0)
    throw pushError(end, { repository, access, branch: worktree.branch, limitMs: limitOf(reach, access) });
}

/** What the host has under the branch's name. */
export async function remoteTip(
  reach: Reach,
  worktree: Worktree,
  repository: ForgeRepository,
  access: ForgeAccess,
): Promise<string | null> {
  const ref = `refs/heads/${worktree.branch}`;
  const end = await call(reach, worktree, repository, access, ['ls-remote', '--', repository.url, ref]);
  if (end.code !== 0)
    throw pushError(end, { repository, access, branch: worktree.branch, limitMs: limitOf(reach, access) });
  return /^([0-9a-f]{40,64})\t/.exec(String(end.stdout))?.[1] ?? null;
}

async function call(
  reach: Reach,
  worktree: Worktree,
  repository: ForgeRepository,
  access: ForgeAccess,
  args: string[],
): Promise<ProgramEnd> {
  const { protocol, options, env } = transport(repository, access);
  const own = await reach.openGit(worktree.repository, access.env).catch(thrown => {
    throw asGitError(thrown, worktree.repository);
  });
  const tip = await own
    .run(['rev-parse', '--verify', '--quiet', '--end-of-options', `refs/heads/${worktree.branch}^{commit}`])
    .then(found => String(found).trim())
    .catch(thrown => {
      throw new SquadError('GIT_FAILED', `There is no branch ${worktree.branch} in ${worktree.repository}`, {
        cause: thrown,
        suggestions: ['Somebody removed it. `squad worktrees` shows what there is.'],
      });
    });
  const objects = { env: access.env, objectsOf: own, isSha256: tip.length === 64 };
  return inScratchRepository(reach.openGit, objects, (git, scratchEnv, folder) =>
    git.reach([...options, ...args], protocol, {
      env: { ...scratchEnv, ...env(folder) },
      limitMs: limitOf(reach, access),
      maxBytes: MAX_BYTES,
    }),
  );
}

const limitOf = ({ pushLimitMs }: Reach, { patienceMs = pushLimitMs }: ForgeAccess): number => patienceMs;
