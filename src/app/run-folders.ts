import type { Clock } from '../core/ports/clock.ts';
import type { RunFiles } from '../core/ports/run-files.ts';
import type { Store } from '../core/ports/store.ts';
import type { Worktrees } from '../core/ports/worktrees.ts';
import type { Run } from '../schema/run.ts';

interface FolderPorts {
  clock: Clock;
  store: Store;
  files: RunFiles;
  worktrees: Worktrees;
}

/** Sees to it that the folder of a run is there before its agent is: its work tree, made and set up. */
export const createPrepareFolder =
  ({ clock, store, files, worktrees }: FolderPorts) =>
  async (run: Run, env: Record<string, string>, signal: AbortSignal): Promise<void> => {
    const { id, squadId, worktree, workspace, options } = run;
    if (!worktree) return;
    const logFile = files.path({ runId: id, number: 1 }, 'setup.log');
    const setup = options.setup && { ...options.setup, source: workspace, env, logFile };
    const { made } = await worktrees.ensure(worktree, setup, signal, run.directory);
    if (!made) return;
    const body = { type: 'worktree.made' as const, path: worktree.path, branch: worktree.branch };
    await store.commit({ events: [{ at: clock.now(), runId: id, squadId, body }] });
  };
