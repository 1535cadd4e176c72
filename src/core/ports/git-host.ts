import type { Worktree } from '../../schema/worktree.ts';

/** A repository as its host knows it. */
export interface ForgeRepository {
  owner: string;
  name: string;
  /** The host's API. */
  apiUrl: string;
  /** The remote it was found by. */
  remote: string;
  /** Where its branches go: no password or token in it. */
  url: string;
}

export interface ForgeAccess {
  token: string;
  /** Set by the user for an Enterprise host. */
  apiUrl: string | null;
  /** What a push may need: the way to an ssh agent, proxies. */
  env: Record<string, string>;
  /** How long one question may take, when it is to be less than usual. */
  patienceMs?: number;
}

export interface PullRequest {
  number: number;
  url: string;
  /** It had been opened before. */
  existed: boolean;
}

export interface CreatedIssue {
  number: number;
  url: string;
}

/** GitHub, or a host that speaks like it. */
export interface GitHost {
  /** Throws REMOTE_MISSING, CONFIG_INVALID. */
  repository(folder: string, access: ForgeAccess): Promise<ForgeRepository>;
  /** Whether this commit would bring anything to that branch (null: to where the work tree began). Throws GIT_FAILED. */
  brings(
    worktree: Worktree,
    commit: string,
    base: { branch: string; repository: ForgeRepository } | null,
  ): Promise<boolean>;
  /** Whether one commit came of the other by changes of this file alone. Throws GIT_FAILED. */
  changesOnly(worktree: Worktree, way: { from: string; to: string }, path: string): Promise<boolean>;
  /** This commit, under the name of the work tree's branch. Throws PUSH_REJECTED: it is not there; GITHUB_UNREACHABLE: nobody knows; GIT_FAILED. */
  push(worktree: Worktree, commit: string, repository: ForgeRepository, access: ForgeAccess): Promise<void>;
  /** The commit the host has for the work tree's branch; null: it has no such branch. Throws as `push` does. */
  remoteTip(worktree: Worktree, repository: ForgeRepository, access: ForgeAccess): Promise<string | null>;
  /** The open pull request of a branch. Throws as `openPullRequest` does. */
  findPullRequest(
    repository: ForgeRepository,
    head: string,
    access: ForgeAccess,
  ): Promise<PullRequest | null>;
  /** The one that is open already, or a new one; without a base, for the host's default branch. Throws NOTHING_TO_PROPOSE, GITHUB_REFUSED, GITHUB_RATE_LIMITED, GITHUB_UNREACHABLE. */
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
