import type { Worktree } from '../../schema/worktree.ts';

export interface HostedRepository {
  owner: string;
  name: string;
  apiUrl: string;
  /** Name of the Git remote by which the repository was found. */
  remote: string;
  /** The push URL, without password or token. */
  url: string;
}

export interface GitHostAccess {
  token: string;
  /** Address of the API that the user set for an Enterprise host. Null for GitHub itself. */
  apiUrl: string | null;
  /** Environment for pushes: ssh agent, proxies. */
  env: Record<string, string>;
  /** Timeout, if it should be shorter than the default. */
  timeoutMs?: number;
}

export interface PullRequest {
  number: number;
  url: string;
  /** True if the pull request was already open. */
  existed: boolean;
}

export interface CreatedIssue {
  number: number;
  url: string;
}

/** GitHub, or a host with the same API. */
export interface GitHost {
  /** Finds the repository of a folder. Throws REMOTE_MISSING and CONFIG_INVALID. */
  repository(folder: string, access: GitHostAccess): Promise<HostedRepository>;
  /**
   * Whether the commit changes anything compared to the base branch. With null, compared to the start of the work tree.
   * Throws GIT_FAILED.
   */
  changesAnything(
    worktree: Worktree,
    commit: string,
    base: { branch: string; repository: HostedRepository } | null,
  ): Promise<boolean>;
  /** Whether all commits between the two change only this file. Throws GIT_FAILED. */
  changesOnly(worktree: Worktree, way: { from: string; to: string }, path: string): Promise<boolean>;
  /**
   * Pushes the commit to the work tree's branch. Throws PUSH_REJECTED (the commit did not arrive), GITHUB_UNREACHABLE
   * (it may have arrived) or GIT_FAILED.
   */
  push(
    worktree: Worktree,
    commit: string,
    repository: HostedRepository,
    access: GitHostAccess,
  ): Promise<void>;
  /** The commit of the work tree's branch on the host. Null if the host has no such branch. Throws like `push`. */
  remoteTip(worktree: Worktree, repository: HostedRepository, access: GitHostAccess): Promise<string | null>;
  /** The open pull request of a branch. Throws like `openPullRequest`. */
  findPullRequest(
    repository: HostedRepository,
    head: string,
    access: GitHostAccess,
  ): Promise<PullRequest | null>;
  /**
   * Returns the open pull request of the branch, or creates one. Without a base, it is for the default branch. Throws
   * NOTHING_TO_PROPOSE, GITHUB_REFUSED, GITHUB_RATE_LIMITED, GITHUB_UNREACHABLE.
   */
  openPullRequest(
    repository: HostedRepository,
    ask: { head: string; base: string | null; title: string; body: string },
    access: GitHostAccess,
  ): Promise<PullRequest>;
  createIssue(
    repository: HostedRepository,
    issue: { title: string; body: string; labels: string[] },
    access: GitHostAccess,
  ): Promise<CreatedIssue>;
}
