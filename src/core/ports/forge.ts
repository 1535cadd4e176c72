import type { Worktree } from '../../schema/worktree.ts';

/** A repository as its host knows it. */
export interface ForgeRepository {
  owner: string;
  name: string;
  /** The host's API. */
  apiUrl: string;
  /** The remote it was found by. */
  remote: string;
}

export interface ForgeAccess {
  token: string;
  /** Set by the user for an Enterprise host. */
  apiUrl: string | null;
  /** What a push may need: the way to an ssh agent, proxies. */
  env: Record<string, string>;
}

export interface PullRequest {
  number: number;
  url: string;
  /** It had been opened before. */
  existed: boolean;
}

/** GitHub, or a host that speaks like it. */
export interface Forge {
  /** Throws REMOTE_MISSING. */
  repository(folder: string, access: ForgeAccess): Promise<ForgeRepository>;
  /** Throws REMOTE_MISSING, PUSH_REJECTED. */
  push(worktree: Worktree, repository: ForgeRepository, access: ForgeAccess): Promise<void>;
  /** Throws GITHUB_REFUSED, GITHUB_RATE_LIMITED, GITHUB_UNREACHABLE. */
  openPullRequest(
    repository: ForgeRepository,
    ask: { head: string; base: string | null; title: string; body: string },
    access: ForgeAccess,
  ): Promise<PullRequest>;
  createIssue(
    repository: ForgeRepository,
    issue: { title: string; body: string; labels: string[] },
    access: ForgeAccess,
  ): Promise<{ number: number; url: string }>;
}
