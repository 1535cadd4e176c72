/**
 * Fixture for the tests in this folder: a fake GitHub server on loopback, a clone with its own branch, and access from
 * the clone to the server.
 */
import { join } from 'node:path';
import type { BareRepository } from '../../../test/servers/github/bare-repository.ts';
import { GitHubServer } from '../../../test/servers/github/server.ts';
import type { GitHostAccess } from '../../core/ports/git-host.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { openGit } from '../../workspace/git/git.ts';
import { Repository } from '../../workspace/testing/repository.ts';
import { createGitHub } from '../git-host.ts';

export class GitHostFixture implements AsyncDisposable {
  readonly github: GitHubServer;
  readonly host: BareRepository;
  readonly local = new Repository();
  readonly worktree: Worktree;

  private constructor(github: GitHubServer) {
    this.github = github;
    this.host = github.addRepository('octo', 'demo');
    this.local.write('README.md', 'demo\n');
    const base = this.local.commit('Begin');
    this.local.git('push', '-q', this.host.folder, 'main');
    this.local.git('remote', 'add', 'origin', this.host.httpUrl);
    this.worktree = {
      path: join(this.local.folder, 'tree'),
      branch: 'squad/coder/run_1',
      repository: this.local.root,
      base,
      baseBranch: 'main',
      workspace: join(this.local.folder, 'tree'),
    };
    this.local.git('worktree', 'add', '-q', '-b', this.worktree.branch, this.worktree.path);
  }

  static start = async (): Promise<GitHostFixture> => new GitHostFixture(await GitHubServer.start());

  gitHost = (limits: { requestTimeoutMs?: number; pushTimeoutMs?: number } = {}) =>
    createGitHub({ openGit, env: this.env, ...limits });

  access = (change: Partial<GitHostAccess> = {}): GitHostAccess => ({
    token: this.github.token,
    apiUrl: this.github.apiUrl,
    env: this.env,
    ...change,
  });

  get env(): Record<string, string> {
    return { PATH: this.local.env.PATH ?? '', HOME: this.local.env.HOME };
  }

  /** Writes a file and commits it on the branch, as an agent would. */
  work(file: string, text = `${file}\n`): string {
    this.local.write(`../tree/${file}`, text);
    this.local.git('-C', this.worktree.path, 'add', '-A');
    this.local.git('-C', this.worktree.path, 'commit', '-q', '-m', `Add ${file}`);
    return this.local.git('rev-parse', this.worktree.branch).trim();
  }

  remote(url: string): void {
    this.local.git('remote', 'set-url', 'origin', url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.github[Symbol.asyncDispose]();
    this.local.remove();
  }
}
