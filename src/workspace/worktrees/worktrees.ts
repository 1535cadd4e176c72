import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createKeyedQueue } from '../../base/keyed-queue.ts';
import type { Worktrees } from '../../core/ports/worktrees.ts';
import { createProcessTable, type ProcessTable } from '../../process/table/process-table.ts';
import { nearestReal } from '../files/nearest-real.ts';
import { isAside } from './discard-folder.ts';
import { folderSize } from './folder-size.ts';
import { removeWorktree } from './remove-worktree.ts';
import { ensureWorktree, type WorktreeTools } from './worktree-ensure.ts';
import { planWorktree } from './worktree-plan.ts';
import { remainsOf, restoreBranch } from './worktree-remains.ts';
import { checkoutAround, wayTo } from './worktree-repository.ts';
import { worktreeState } from './worktree-state.ts';

export interface WorktreesOptions {
  /** Where they are kept, for all repositories. */
  folder: string;
  env?: Record<string, string | undefined>;
  processes?: ProcessTable;
}

export function createWorktrees(options: WorktreesOptions): Worktrees {
  const { folder, env = process.env, processes: table = createProcessTable() } = options;
  const tools: WorktreeTools = { env, table, queue: createKeyedQueue() };

  return {
    plan: ask => planWorktree(folder, env, ask),
    ensure: (worktree, setup, signal, directory = worktree.workspace) =>
      tools.queue(worktree.path, () => ensureWorktree({ worktree, setup, directory, signal }, tools)),
    state: worktree => worktreeState(worktree, env),
    checkout: place => checkoutAround(place, folder),
    repositoryOf: async worktree => (await wayTo(worktree))?.commonDir ?? null,
    remains: worktree => remainsOf(worktree, env),
    restoreBranch: (worktree, commit) => restoreBranch(worktree, commit, tools),
    bytes: ({ path }) => folderSize(path),
    remove: (worktree, how) => tools.queue(worktree.path, () => removeWorktree(worktree, tools, how)),

    async strays(known) {
      const ours = new Set(known.map(({ path }) => path));
      const real = await nearestReal(folder);
      const found: string[] = [];
      for (const repository of await namesIn(real))
        for (const name of await namesIn(join(real, repository)))
          if (!isAside(name) && !ours.has(join(real, repository, name)))
            found.push(join(real, repository, name));
      return found;
    },
  };
}

async function namesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter(entry => entry.isDirectory()).map(({ name }) => name);
}
