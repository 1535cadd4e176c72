import { z } from 'zod';
import type { Forge, ForgeAccess, ForgeRepository, PullRequest } from '../core/ports/git-host.ts';
import { createRedactor } from '../redaction/redactor.ts';
import { SquadError } from '../schema/error.ts';
import type { ApiClient, ApiEnd, ApiFailure } from './api-client.ts';
import { type Attempt, apiError, unreadable } from './api-errors.ts';
import { brings } from './brings.ts';
import { changesOnly } from './changes-only.ts';
import { findRepository } from './find-repository.ts';
import type { OpenGit } from './git.ts';
import { push, remoteTip } from './push.ts';

export interface ForgeOptions {
  openGit: OpenGit;
  /** Where git is found. */
  env?: Record<string, string | undefined>;
  /** How long the host may take for one answer, and git for one push. */
  limitMs?: number;
  pushLimitMs?: number;
}

const LIMIT_MS = 30_000;
const PUSH_LIMIT_MS = 300_000;

const Numbered = z.object({ number: z.number(), html_url: z.string() });
const Described = z.object({ default_branch: z.string() });

export function createForge(options: ForgeOptions): Forge {
  const { openGit, env = process.env, limitMs = LIMIT_MS, pushLimitMs = PUSH_LIMIT_MS } = options;
  const reach = { openGit, pushLimitMs };

  /** Loaded when somebody first asks: most hubs never do. */
  async function clientFor({ apiUrl }: ForgeRepository, access: ForgeAccess): Promise<ApiClient> {
    const { createApiClient } = await import('./octokit-client.ts');
    return createApiClient({ ...access, apiUrl, limitMs: access.patienceMs ?? limitMs });
  }

  async function findPullRequest(repository: ForgeRepository, head: string, access: ForgeAccess) {
    const client = await clientFor(repository, access);
    const attempt = attemptOf('list the pull requests', PULLS, repository);
    const [found] = read(z.array(Numbered), await client.openPulls(repository, head), attempt, access);
    return found
      ? ({ number: found.number, url: found.html_url, existed: true } satisfies PullRequest)
      : null;
  }

  return {
    repository: (folder, access) => findRepository(openGit, folder, access),
    brings: (worktree, commit, base) => brings(openGit, env, worktree, commit, base),
    changesOnly: (worktree, way, path) => changesOnly(openGit, env, worktree, way, path),
    push: (worktree, commit, repository, access) => push(reach, worktree, commit, repository, access),
    remoteTip: (worktree, repository, access) => remoteTip(reach, worktree, repository, access),
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
        // Somebody else may have opened it just now.
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

async function defaultBranch(client: ApiClient, repository: ForgeRepository, access: ForgeAccess) {
  const attempt = attemptOf('name the default branch', PULLS, repository);
  return read(Described, await client.repository(repository), attempt, access).default_branch;
}

const PULLS = { scope: 'repo', permissions: '"Pull requests: read and write"' };
const ISSUES = { scope: 'repo', permissions: '"Issues: read and write"' };

const attemptOf = (what: string, needs: typeof PULLS, { owner, name, apiUrl }: ForgeRepository): Attempt => ({
  ...needs,
  apiUrl,
  what: `${what} in ${owner}/${name}`,
});

function read<T>(schema: z.ZodType<T>, end: ApiEnd, attempt: Attempt, access: ForgeAccess): T {
  if ('failed' in end) throw apiError(redacted(end, access), attempt);
  const parsed = schema.safeParse(end.data);
  if (!parsed.success) throw unreadable(attempt);
  return parsed.data;
}

/** A host, or something in between, may repeat what it was sent. */
const redacted = (failure: ApiFailure, { token }: ForgeAccess): ApiFailure =>
  createRedactor([{ name: 'GITHUB_TOKEN', value: token }]).deep(failure);

const nothingBetween = (head: string, base: string): SquadError =>
  new SquadError('NOTHING_TO_PROPOSE', `GitHub sees no commits on ${head} that ${base} has not`, {
    suggestions: ['Commit the work first, or name another base_branch.'],
  });
