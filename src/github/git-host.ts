import { z } from 'zod';
import type { GitHost, GitHostAccess, HostedRepository, PullRequest } from '../core/ports/git-host.ts';
import { createRedactor } from '../redaction/redactor.ts';
import { SquadError } from '../schema/error.ts';
import type { Worktree } from '../schema/worktree.ts';
import { findRepository } from './find-repository.ts';
import { asGitError, type Git, type OpenGit } from './git.ts';
import type { ApiClient, ApiFailure, ApiResult } from './octokit-client.ts';
import { push, remoteTip } from './push.ts';

export interface Attempt {
  /** Describes what was attempted, for example "open a pull request in owner/name". */
  what: string;
  apiUrl: string;
  /** Required scope of a classic token, or permissions of a fine-grained one. */
  scope: string;
  permissions: string;
}

/** An error with the host's own message, and a next step derived from its headers. */
export function apiError(failure: ApiFailure, attempt: Attempt): SquadError {
  const { status } = failure;
  const said = messageOf(failure);
  if (status === null || status >= 500) return unreachable(failure, attempt, said);
  if (isRateLimit(failure)) return rateLimited(failure, attempt, said);
  const answer = `${hostOf(attempt)} did not ${attempt.what}: ${said} (${status})`;
  return new SquadError('GITHUB_REFUSED', answer, { suggestions: [nextStep(failure, attempt)] });
}

/** Error for a response that does not come from GitHub, or that was cut off. */
export const unreadable = (attempt: Attempt): SquadError =>
  new SquadError(
    'GITHUB_UNREACHABLE',
    `${hostOf(attempt)} was asked to ${attempt.what}, but its response cannot be read. It is unknown whether the request was carried out`,
    {
      suggestions: [
        `Check that ${attempt.apiUrl} is the address of a GitHub API. Before you retry, check on GitHub whether the request was carried out.`,
      ],
    },
  );

function unreachable({ status }: ApiFailure, attempt: Attempt, said: string): SquadError {
  const how = status === null ? `could not be reached: ${said}` : `it failed: ${said} (${status})`;
  return new SquadError('GITHUB_UNREACHABLE', `${hostOf(attempt)} was asked to ${attempt.what}, but ${how}`, {
    suggestions: [
      status === null
        ? `Check the network, and GITHUB_API_URL if it is set (the request went to ${attempt.apiUrl}). Then retry.`
        : 'Try again later; Squad does not retry by itself.',
    ],
  });
}

const isRateLimit = ({ status, headers, data }: ApiFailure): boolean =>
  status === 429 ||
  (status === 403 &&
    (headers['x-ratelimit-remaining'] === '0' ||
      headers['retry-after'] !== undefined ||
      /rate limit/i.test(textOf(data, 'message') ?? '')));

function rateLimited({ headers }: ApiFailure, attempt: Attempt, said: string): SquadError {
  const resetAt = resetOf(headers);
  const until = resetAt === null ? '' : ` until ${resetAt}`;
  return new SquadError(
    'GITHUB_RATE_LIMITED',
    `${hostOf(attempt)} accepts no more requests with this token${until}: ${said}`,
    {
      suggestions: [resetAt === null ? 'Retry in a few minutes.' : `Retry after ${resetAt}.`],
      details: { reset_at: resetAt },
    },
  );
}

/** Time at which the rate limit ends. Null if unknown. */
function resetOf(headers: Record<string, string>): string | null {
  const wait = Number(headers['retry-after']);
  const reset = Number(headers['x-ratelimit-reset']);
  if (headers['x-ratelimit-remaining'] === '0' && reset > 0) return asTime(reset * 1000);
  return wait > 0 ? asTime(Date.now() + wait * 1000) : null;
}

/** Formats a time. Returns null for an invalid date. */
function asTime(ms: number): string | null {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? null : date.toISOString().replace(/\.\d+Z$/, 'Z');
}

function nextStep({ status, headers }: ApiFailure, { scope, permissions }: Attempt): string {
  const needed = `scope \`${headers['x-accepted-oauth-scopes'] || scope}\`, or ${permissions} for a fine-grained one`;
  if (status !== null && status < 400)
    return 'The repository has moved. Set its new address with `git remote set-url`; the token is not sent to another host.';
  if (status === 401)
    return 'The token in GITHUB_TOKEN is invalid or has expired: create a new one and restart your client with it.';
  if (status !== 403 && status !== 404) return 'Change the request as the message says, then retry.';
  const has = headers['x-oauth-scopes'];
  const own = has === undefined ? '' : ` It has ${has === '' ? 'no scope at all' : `the scopes \`${has}\``}.`;
  const seen =
    status === 404
      ? ' GitHub also answers "Not Found" when a token has no access: check the address of the remote too.'
      : '';
  return `The token needs ${needed}.${own}${seen}`;
}

const MAX_TEXT_LENGTH = 800;

function messageOf({ data, message }: ApiFailure): string {
  const errors = (data as { errors?: unknown } | null)?.errors;
  const details = Array.isArray(errors) ? errors.map(detailOf).filter(text => text !== '') : [];
  const own = textOf(data, 'message');
  const said = own === null ? plain(message) : [own, ...details].join('; ');
  return said.slice(0, MAX_TEXT_LENGTH).toWellFormed() || 'no reason given';
}

/** Describes the `{ resource, field, code, message }` of a refused value. */
function detailOf(error: unknown): string {
  if (typeof error === 'string') return error;
  const message = textOf(error, 'message');
  if (message) return message;
  return [textOf(error, 'resource'), textOf(error, 'field'), textOf(error, 'code')].filter(Boolean).join(' ');
}

/** An error page of a proxy is not shown, because it contains no reason. */
const plain = (text: string): string =>
  /<html|<!doctype/i.test(text) ? 'a web page instead of an answer' : text;

function textOf(value: unknown, key: string): string | null {
  const found = (value as Record<string, unknown> | null | undefined)?.[key];
  return typeof found === 'string' && found !== '' ? found : null;
}

const hostOf = ({ apiUrl }: Attempt): string =>
  apiUrl === 'https://api.github.com' ? 'GitHub' : `GitHub (${new URL(apiUrl).host})`;

/** Whether a commit differs from the start of its work tree, and from its merge base with the base branch. */
async function changesAnything(
  openGit: OpenGit,
  env: Record<string, string | undefined>,
  worktree: Worktree,
  commit: string,
  base: { branch: string; repository: HostedRepository } | null,
): Promise<boolean> {
  try {
    const git = await openGit(worktree.repository, env);
    const tree = await idOf(git, `${commit}^{tree}`);
    if (tree === (await idOf(git, `${worktree.base}^{tree}`))) return false;
    const common = base && (await mergeBase(git, commit, base));
    return !common || tree !== (await idOf(git, `${common}^{tree}`));
  } catch (thrown) {
    throw asGitError(thrown, worktree.repository);
  }
}

/** Uses the base branch in the state that this repository has of it. */
async function mergeBase(
  git: Git,
  commit: string,
  { branch, repository }: { branch: string; repository: HostedRepository },
): Promise<string | null> {
  for (const ref of [`refs/remotes/${repository.remote}/${branch}`, `refs/heads/${branch}`]) {
    const tip = await idOf(git, `${ref}^{commit}`);
    // This git command exits with 1 when the commits have no common ancestor.
    if (tip) return String(await git.run(['merge-base', tip, commit], { codes: [1] })).trim() || null;
  }
  return null;
}

const idOf = async (git: Git, name: string): Promise<string | null> =>
  String(
    await git.run(['rev-parse', '--verify', '--quiet', '--end-of-options', name], { codes: [1] }),
  ).trim() || null;

/** Maximum number of commits to read. Squad adds fewer to a branch during one review. */
const MAX_COMMITS = 100;

/**
 * Whether every commit between the two changes only this file: a change that was reverted would still be in the history. Ignores
 * replace refs, which could show other commits.
 */
async function changesOnly(
  openGit: OpenGit,
  env: Record<string, string | undefined>,
  { repository }: Worktree,
  { from, to }: { from: string; to: string },
  path: string,
): Promise<boolean> {
  try {
    const git = await openGit(repository, env);
    let id = to;
    for (let i = 0; i < MAX_COMMITS && id !== from; i++) {
      const { tree, parents } = await commitOf(git, id);
      const [parent, ...others] = parents;
      if (!parent || others.length > 0) return false;
      const before = await commitOf(git, parent);
      if ((await changedBetween(git, before.tree, tree)).some(each => each !== path)) return false;
      id = parent;
    }
    return id === from;
  } catch (thrown) {
    throw asGitError(thrown, repository);
  }
}

async function commitOf(git: Git, id: string): Promise<{ tree: string; parents: string[] }> {
  const [head = ''] = (await readGit(git, ['cat-file', 'commit', id])).split('\n\n');
  const named = (key: string) =>
    head.split('\n').flatMap(line => (line.startsWith(`${key} `) ? [line.slice(key.length + 1)] : []));
  return { tree: named('tree')[0] ?? '', parents: named('parent') };
}

async function changedBetween(git: Git, before: string, after: string): Promise<string[]> {
  const options = ['-r', '-z', '--name-only', '--no-renames', '--no-ext-diff', '--ignore-submodules=none'];
  return (await readGit(git, ['diff-tree', ...options, before, after])).split('\0').filter(Boolean);
}

const readGit = async (git: Git, args: string[]): Promise<string> =>
  String(await git.run(['--no-replace-objects', ...args]));

interface GitHubOptions {
  openGit: OpenGit;
  env?: Record<string, string | undefined>;
  requestTimeoutMs?: number;
  pushTimeoutMs?: number;
}

const REQUEST_TIMEOUT_MS = 30_000;
const PUSH_TIMEOUT_MS = 300_000;

const Numbered = z.object({ number: z.number(), html_url: z.string() });
const Described = z.object({ default_branch: z.string() });

export function createGitHub(options: GitHubOptions): GitHost {
  const { openGit, env = process.env } = options;
  const { requestTimeoutMs = REQUEST_TIMEOUT_MS, pushTimeoutMs = PUSH_TIMEOUT_MS } = options;
  const pushOptions = { openGit, timeoutMs: pushTimeoutMs };

  /** Creates the API client. Its module is loaded on first use, because most hubs never need it. */
  async function clientFor({ apiUrl }: HostedRepository, access: GitHostAccess): Promise<ApiClient> {
    const { createApiClient } = await import('./octokit-client.ts');
    return createApiClient({ ...access, apiUrl, timeoutMs: access.timeoutMs ?? requestTimeoutMs });
  }

  async function findPullRequest(repository: HostedRepository, head: string, access: GitHostAccess) {
    const client = await clientFor(repository, access);
    const attempt = attemptOf('list the pull requests', PULLS, repository);
    const [found] = read(z.array(Numbered), await client.openPulls(repository, head), attempt, access);
    return found
      ? ({ number: found.number, url: found.html_url, existed: true } satisfies PullRequest)
      : null;
  }

  return {
    repository: (folder, access) => findRepository(openGit, folder, access),
    changesAnything: (worktree, commit, base) => changesAnything(openGit, env, worktree, commit, base),
    changesOnly: (worktree, way, path) => changesOnly(openGit, env, worktree, way, path),
    push: (worktree, commit, repository, access) => push(pushOptions, worktree, commit, repository, access),
    remoteTip: (worktree, repository, access) => remoteTip(pushOptions, worktree, repository, access),
    findPullRequest,

    async openPullRequest(repository, ask, access) {
      const open = await findPullRequest(repository, ask.head, access);
      if (open) return open;
      const client = await clientFor(repository, access);
      const base = ask.base ?? (await defaultBranch(client, repository, access));
      const end = await client.createPull(repository, { ...ask, base });
      const attempt = attemptOf('open a pull request', PULLS, repository);
      if ('failed' in end && end.status === 422) {
        if (/no commits between/i.test(JSON.stringify(end.data))) throw nothingBetween(ask.head, base);
        // Another process may have opened the pull request in the meantime.
        const opened =
          /already exists/i.test(JSON.stringify(end.data)) &&
          (await findPullRequest(repository, ask.head, access));
        if (opened) return opened;
      }
      const made = read(Numbered, end, attempt, access);
      return { number: made.number, url: made.html_url, existed: false };
    },

    async createIssue(repository, issue, access) {
      const client = await clientFor(repository, access);
      const attempt = attemptOf('create an issue', ISSUES, repository);
      const made = read(Numbered, await client.createIssue(repository, issue), attempt, access);
      return { number: made.number, url: made.html_url };
    },
  };
}

async function defaultBranch(client: ApiClient, repository: HostedRepository, access: GitHostAccess) {
  const attempt = attemptOf('name the default branch', PULLS, repository);
  return read(Described, await client.repository(repository), attempt, access).default_branch;
}

const PULLS = { scope: 'repo', permissions: '"Pull requests: read and write"' };
const ISSUES = { scope: 'repo', permissions: '"Issues: read and write"' };

const attemptOf = (
  what: string,
  needs: typeof PULLS,
  { owner, name, apiUrl }: HostedRepository,
): Attempt => ({
  ...needs,
  apiUrl,
  what: `${what} in ${owner}/${name}`,
});

function read<T>(schema: z.ZodType<T>, end: ApiResult, attempt: Attempt, access: GitHostAccess): T {
  if ('failed' in end) throw apiError(redacted(end, access), attempt);
  const parsed = schema.safeParse(end.data);
  if (!parsed.success) throw unreadable(attempt);
  return parsed.data;
}

/** Removes the token, because a host or a proxy may echo the request. */
const redacted = (failure: ApiFailure, { token }: GitHostAccess): ApiFailure =>
  createRedactor([{ name: 'GITHUB_TOKEN', value: token }]).deep(failure);

const nothingBetween = (head: string, base: string): SquadError =>
  new SquadError('NOTHING_TO_PROPOSE', `GitHub sees no commits on ${head} that ${base} does not have`, {
    suggestions: ['Commit the work first, or name another base_branch.'],
  });
