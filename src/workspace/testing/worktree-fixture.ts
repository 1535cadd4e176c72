/** Fixture for tests of work trees: a repository with a commit, and the adapter with a temporary folder. */
import { join } from 'node:path';
import type { WorktreeAsk, WorktreeSetup, Worktrees } from '../../core/ports/worktrees.ts';
import type { RunId } from '../../schema/ids.ts';
import { createWorktrees } from '../worktrees/worktrees.ts';
import { Repository } from './repository.ts';

export class WorktreeFixture {
  readonly repo = new Repository();
  readonly folder = join(this.repo.folder, 'kept here');
  readonly worktrees: Worktrees = createWorktrees({ folder: this.folder, env: this.repo.env });

  constructor() {
    this.repo.write('a.txt', 'one\n');
    this.repo.write('app/b.txt', 'two\n');
    this.repo.commit('First');
  }

  ask(more: Partial<WorktreeAsk> = {}): WorktreeAsk {
    const { root } = this.repo;
    return { runId: runId(1), name: 'coder', directory: root, workspace: root, ...more };
  }

  plan = (more: Partial<WorktreeAsk> = {}) => this.worktrees.plan(this.ask(more));

  async made(more: Partial<WorktreeAsk> = {}) {
    const { worktree } = await this.plan(more);
    await this.worktrees.ensure(worktree, null);
    return worktree;
  }

  setup(more: Partial<WorktreeSetup>): WorktreeSetup {
    const env = { PATH: this.repo.env.PATH ?? '' };
    const logFile = join(this.repo.folder, 'setup.log');
    return { source: this.repo.root, env, logFile, confine: null, ...more };
  }

  remove = (): void => this.repo.remove();
}

export const runId = (n: number): RunId => `run_${String(n).padStart(12, '0')}` as RunId;
