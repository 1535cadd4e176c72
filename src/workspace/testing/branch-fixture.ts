/** Fixture for tests of branches: a repository with a work tree like that of a run. */
import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Worktree } from '../../schema/worktree.ts';
import { createBranches } from '../worktrees/run-branch.ts';
import { Repository } from './repository.ts';

export class BranchFixture {
  readonly repo = new Repository();
  readonly root = join(this.repo.folder, 'tree');
  readonly branch = 'squad/coder/run_1';
  readonly base: string;
  readonly branches = createBranches({ env: this.repo.env });

  constructor() {
    this.repo.write('a.txt', 'one\n');
    this.repo.write('sub/b.txt', 'two\n');
    this.repo.write('.gitignore', '*.log\n');
    this.base = this.repo.commit('First');
    this.repo.git('worktree', 'add', '-q', '-b', this.branch, this.root);
  }

  get worktree(): Worktree {
    const { root: path, branch, base } = this;
    return { path, branch, base, repository: this.repo.root, baseBranch: 'main', workspace: path };
  }

  get gitDir(): string {
    return join(this.repo.root, '.git/worktrees/tree');
  }

  /** Runs git in the work tree as the agent would. */
  git(...args: string[]): string {
    const env = { ...this.repo.env, ...AGENT };
    return execFileSync('git', args, {
      cwd: this.root,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  tip = (): string => this.repo.git('rev-parse', this.branch).trim();
  subjects = (): string[] => this.repo.git('log', '--format=%s', this.branch).trim().split('\n');
  status = (): string => this.git('status', '--porcelain', '-uall');
  shown = (path: string, commit = this.branch): string => this.repo.git('show', `${commit}:${path}`);
  files = (commit: string): string[] =>
    this.repo.git('ls-tree', '-r', '-z', '--name-only', commit).split('\0').slice(0, -1);
  read = (path: string): string => readFileSync(join(this.root, path), 'utf8');
  isLink = (path: string): boolean => lstatSync(join(this.root, path)).isSymbolicLink();

  write(path: string, content: string | Buffer): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), content);
  }

  /** Prepares a commit of all changes and applies it. */
  async commitAll(message = 'Everything'): Promise<string | null> {
    const move = await this.branches.prepareAll(this.worktree, message);
    if (move) await this.branches.apply(this.worktree, move);
    return move?.to ?? null;
  }

  async feedback(text: string | null, message = 'Feedback'): Promise<string | null> {
    const move = await this.branches.prepareFile(this.worktree, { path: FEEDBACK, text }, message);
    if (move) await this.branches.apply(this.worktree, move, FEEDBACK);
    return move?.to ?? null;
  }

  remove(): void {
    this.repo.remove();
  }
}

export const FEEDBACK = 'REVIEW_FEEDBACK.md';

const AGENT = {
  GIT_AUTHOR_NAME: 'Agent',
  GIT_COMMITTER_NAME: 'Agent',
  GIT_AUTHOR_EMAIL: 'a@a',
  GIT_COMMITTER_EMAIL: 'a@a',
  GIT_CONFIG_NOSYSTEM: '1',
};
