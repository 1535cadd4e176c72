import type { Worktree } from '../../schema/worktree.ts';

export interface ForgeRepository {
  owner: string;
  name: string;
  apiUrl: string;
  /** Name of the Git remote it was found by. */
  remote: string;
  /** Address for pushing, without a password or token. */
  url: string;
}

export interface ForgeAccess {
  token: string;
  /** Set by the user for an Enterprise host. */
  apiUrl: string | null;
  /** Variables that a push may need: SSH agent, proxies. */
  env: Record<string, string>;
  /** Timeout of one request, if shorter than usual. */
  patienceMs?: number;
}

export interface PullRequest {
  number: number;
  url: string;
  /** True: it had been opened before. */
  existed: boolean;
}

export interface CreatedIssue {
  number: number;
  url: string;
}

/** GitHub, or a host with the same API. */
export interface GitHost {
  /** Throws REMOTE_MISSING, CONFIG_INVALID. */
  repository(folder: string, access: ForgeAccess): Promise<ForgeRepository>;
  /** Whether merging this commit into that branch (null: into the base commit of the work tree) would change anything. Throws GIT_FAILED. */
  brings(
    worktree: Worktree,
    commit: string,
    base: { branch: string; repository: ForgeRepository } | null,
  ): Promise<boolean>;
  /** Whether the two commits differ only in this file, one being an ancestor of the other. Throws GIT_FAILED. */
  changesOnly(worktree: Worktree, way: { from: string; to: string }, path: string): Promise<boolean>;
  /** Pushes this commit to the work tree's branch. Throws PUSH_REJECTED: it is not there; GITHUB_UNREACHABLE: unknown; GIT_FAILED. */
  push(worktree: Worktree, commit: string, repository: ForgeRepository, access: ForgeAccess): Promise<void>;
  /** The commit of the work tree's branch on the host; null: there is no such branch. Throws as `push` does. */
  remoteTip(worktree: Worktree, repository: ForgeRepository, access: ForgeAccess): Promise<string | null>;
  /** The open pull request of a branch. Throws as `openPullRequest` does. */
  findPullRequest(
    repository: ForgeRepository,
    head: string,
    access: ForgeAccess,
  ): Promise<PullRequest | null>;
  /**
   * The open pull request of the branch, or a new one; without a base, into the default branch. Throws NOTHING_TO_PROPOSE,
   * GITHUB_REFUSED, GITHUB_RATE_LIMITED, GITHUB_UNREACHABLE.
   */
  openPullRequest(
    repository: ForgeRepository,
    ask: { head: string; base: string | null; title: string; body: string },
    access: ForgeAccess,
  ): Promise<PullRequest>;
  createIssue(
    repository: ForgeRepository,
    issue: { title: string; body: string; labels: string[] },
    access: ForgeAccess,
  ): Promise<CreatedIssue>;
}
