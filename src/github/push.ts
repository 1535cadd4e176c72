import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GitHostAccess, HostedRepository } from '../core/ports/git-host.ts';
import type { ProgramEnd } from '../process/programs/run-program.ts';
import { createRedactor } from '../redaction/redactor.ts';
import { SquadError } from '../schema/error.ts';
import { shellWord } from '../schema/shell-word.ts';
import type { Worktree } from '../schema/worktree.ts';
import { asGitError, type Git, type OpenGit } from './git.ts';
import { isServedBy, type Protocol, parseRemoteUrl, shownAddress } from './remote-url.ts';

export interface PushAttempt {
  repository: HostedRepository;
  access: GitHostAccess;
  branch: string;
  limitMs: number;
}

/** Why a push failed: the messages of git and the host, and the next step. */
export function pushError(end: ProgramEnd, attempt: PushAttempt): SquadError {
  const { repository, branch } = attempt;
  const where = `${repository.owner}/${repository.name} (remote ${repository.remote})`;
  if (end.cut === 'missing')
    return new SquadError('GIT_FAILED', `git could not be started: ${end.stderr}`, {
      suggestions: ['Install git, then retry.'],
    });
  if (end.cut !== null)
    return unknown(`Pushing ${branch} to ${where} timed out after ${attempt.limitMs / 1000} s`);
  const message = messageOf(end, attempt);
  const cause = CAUSES.find(({ pattern }) => pattern.test(`${end.stdout}\n${end.stderr}`));
  if (cause?.next === null)
    return unknown(`The connection broke while ${branch} was pushed to ${where}: ${message}`);
  const why = cause?.why?.(attempt);
  const reason = [why, message].filter(Boolean).join('; ');
  return new SquadError('PUSH_REJECTED', `Pushing ${branch} to ${where} failed: ${reason}`, {
    suggestions: [
      cause?.next(attempt) ??
        'Run `git push` by hand in the work tree to see more. No pull request was opened.',
    ],
  });
}

interface Cause {
  pattern: RegExp;
  /** Explains the failure where git's own message is not clear. */
  why?: (attempt: PushAttempt) => string;
  /** Next step for the user. Null if the branch may have arrived anyway. */
  next: ((attempt: PushAttempt) => string) | null;
}

/** The first match counts, so unambiguous causes come first. */
const CAUSES: Cause[] = [
  {
    pattern: /\((non-fast-forward|fetch first|stale info|needs force)\)/,
    next: ({ branch, repository: { remote } }) =>
      `The host has commits on ${branch} that are not in this work tree. Merge them (\`git fetch ${shellWord(remote)} ${shellWord(branch)}\`, then \`git merge FETCH_HEAD\`) and retry; Squad never forces a push.`,
  },
  {
    pattern: /\[remote rejected\]|\[remote failure\]/,
    next: ({ branch }) =>
      `The host's rules for ${branch} reject the push: see its message, or ask a maintainer of the repository.`,
  },
  {
    pattern: /Host key verification failed/,
    next: () => 'Connect once by hand with ssh to accept the host key, then retry.',
  },
  {
    // Over HTTP git wants to prompt for a user name and password, but has no terminal.
    pattern: /Authentication failed for 'https?:|could not read (Username|Password) for|error: 401\b/i,
    why: attempt =>
      getsToken(attempt)
        ? 'the host did not accept the token'
        : 'the host requires a token, and none was sent',
    next: attempt =>
      getsToken(attempt)
        ? 'The token in GITHUB_TOKEN is invalid or has expired: create a new one (scope `repo`, or "Contents: read and write" for a fine-grained one) and restart your client with it.'
        : `The token is sent only to the host of ${attempt.repository.apiUrl}. If the remote is another host of yours, set GITHUB_API_URL to its API.`,
  },
  {
    pattern: /Permission denied|Authentication failed|error: 403\b/i,
    next: ({ repository: { url } }) =>
      /^https?:/.test(url)
        ? 'The token must be allowed to write the contents of the repository: scope `repo`, or "Contents: read and write" for a fine-grained one.'
        : 'The key in your ssh agent must be allowed to write to the repository: try `ssh -T` to the host.',
  },
  {
    pattern: /error: 3\d\d\b|redirect/i,
    next: ({ repository: { remote } }) =>
      `The repository has moved. Set its new address with \`git remote set-url ${shellWord(remote)} URL\`; the token is not sent to another host.`,
  },
  {
    pattern: /not found|does not appear to be a git repository|does not exist|error: 404\b/i,
    next: ({ repository: { remote } }) =>
      `Compare the address of the remote (\`git remote get-url ${shellWord(remote)}\`) with the repository on the host, and check that the token has access to it.`,
  },
  {
    pattern:
      /Could not resolve|Failed to connect|Couldn't connect|Connection refused|timed out|unreachable|No route/i,
    next: () => 'The host cannot be reached from here: check the network and any proxy, then retry.',
  },
  {
    pattern: /hung up|RPC failed|early EOF|reset by peer|Broken pipe|error: 5\d\d\b|Empty reply/i,
    next: null,
  },
];

function getsToken({ repository: { url, apiUrl } }: PushAttempt): boolean {
  const remote = parseRemoteUrl(url, '/');
  return remote !== null && isServedBy(remote, apiUrl);
}

const MAX_TEXT_LENGTH = 800;

/** The lines of the host, then the reason that git gives. */
function messageOf(
  { stdout, stderr, code }: ProgramEnd,
  { access, repository: { url } }: PushAttempt,
): string {
  const refusals = String(stdout)
    .split('\n')
    .flatMap(line => (line.startsWith('!') ? [line.split('\t').at(-1)!] : []));
  const said = stderr
    .split('\n')
    .map(line => line.trim())
    .filter(line => /^(remote|fatal|error|ssh|kex|Host key|[\w.@-]+: Permission denied)/.test(line))
    .filter(line => !/^(error: failed to push some refs|remote: *$)/.test(line));
  const all = [...new Set([...refusals, ...said])];
  // Git's message about its prompt is removed, because `why` explains the problem better.
  const known = all.filter(line => !/could not read (Username|Password)/.test(line));
  const text = all.length > 0 ? known.join('; ') : stderr.trim() || `git ended with ${code}`;
  return createRedactor([{ name: 'GITHUB_TOKEN', value: access.token }])
    .text(text.replaceAll(url, shownAddress(url)))
    .slice(0, MAX_TEXT_LENGTH)
    .toWellFormed();
}

const unknown = (message: string): SquadError =>
  new SquadError('GITHUB_UNREACHABLE', `${message}. It is unknown whether the branch was pushed`, {
    suggestions: ['Retry: pushing again is safe, even if the branch has arrived.'],
  });

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
    // The file `shallow` exists only in a shallow clone.
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
  /** Options of git itself, before the subcommand. */
  options: string[];
  /** Options of `push`. */
  receiver: string[];
  /** Variables that are added to the usual environment. `home` is an empty folder. */
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
          // An empty home keeps git from using other credentials of the user.
          HOME: home,
          ...(isServedBy(remote, repository.apiUrl) && tokenFor(repository.url, access.token)),
        }),
      };
  }
}

/**
 * The token is in the environment of this one command: arguments are visible to other users, and a file would stay on
 * disk.
 */
function tokenFor(url: string, token: string): Record<string, string> {
  const basic = Buffer.from(`x-access-token:${token}`).toString('base64');
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `http.${url}.extraHeader`,
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
  };
}

/** The user's own ssh command, with options that make it fail instead of prompting. */
function sshEnvironment({ env }: GitHostAccess): Record<string, string> {
  const command = env.GIT_SSH_COMMAND?.trim() || 'ssh';
  return {
    ...picked(env, ['SSH_AUTH_SOCK']),
    GIT_SSH_COMMAND: `${command} -o BatchMode=yes -o ConnectTimeout=${CONNECT_SECONDS}`,
    GIT_SSH_VARIANT: 'ssh',
  };
}

/**
 * For a repository in a folder, git starts the receiving side with that repository's configuration, which an agent may
 * have changed. These options keep that configuration from running programs.
 */
const RECEIVE_PACK = [
  'git',
  ...[
    'core.hooksPath=/dev/null',
    'core.fsmonitor=false',
    'core.alternateRefsCommand=true',
    'receive.autogc=false',
    // Any other value would make git check out files, which runs filters of that repository.
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

/** Pushes a commit to the branch of the same name on the host. Never forces. */
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

/** Commit of the branch on the Git host. */
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
        suggestions: ['The branch was deleted. `squad worktrees` lists the branches of runs.'],
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
