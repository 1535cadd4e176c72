import type { Clock } from '../../base/clock.ts';
import { newRunId } from '../../schema/ids.ts';
import type { Intent } from '../../schema/review.ts';
import type { Worktree } from '../../schema/worktree.ts';
import type { CheckEnd, Integration, RunCheck } from '../ports/integration.ts';
import type { Store } from '../ports/store.ts';
import type { WorktreeSetup, Worktrees } from '../ports/worktrees.ts';

export interface CheckOrder {
  argv: [string, ...string[]];
  limitMs: number;
  env: Record<string, string>;
  /** As for runs' work trees. */
  setup: Omit<WorktreeSetup, 'logFile'> | null;
  /** The check runs in this folder's counterpart in the work tree. */
  workspace: string;
  signal?: AbortSignal;
}

export interface TryOutPorts {
  clock: Clock;
  store: Store;
  worktrees: Worktrees;
  integration: Integration;
  runCheck: RunCheck;
  /** File for the output of the set-up command. */
  setupLog: string;
}

/** Runs the check on a commit, in a temporary work tree. */
export async function runMergeCheck(
  ports: TryOutPorts,
  { repository, commit }: { repository: string; commit: string },
  order: CheckOrder,
): Promise<CheckEnd> {
  const { clock, store, worktrees } = ports;
  const { workspace, signal } = order;
  const ask = { runId: newRunId(), name: 'check', directory: repository, workspace };
  const tree = { ...(await worktrees.plan(ask)).worktree, base: commit };
  const intent: Intent = { id: `check:${ask.runId}`, at: clock.now(), kind: 'check', tree };
  await store.commit({ intents: [intent], events: [] });
  try {
    await worktrees.ensure(tree, order.setup && { ...order.setup, logFile: ports.setupLog }, signal);
    const { argv, env, limitMs } = order;
    return await ports.runCheck({ argv, env, limitMs, cwd: tree.workspace, signal });
  } finally {
    if (await removeCheckTree(ports, tree)) await store.commit({ intentsDone: [intent.id], events: [] });
  }
}

/** Files that a check leaves are nobody's work, so they are not kept. False: the work tree is still there. */
export async function removeCheckTree(
  { worktrees, integration }: Pick<TryOutPorts, 'worktrees' | 'integration'>,
  tree: Worktree,
): Promise<boolean> {
  const removal = await worktrees.remove(tree, { dropEmptyBranch: true });
  if (removal.outcome === 'kept') return false;
  if (removal.outcome === 'removed' && removal.savedRef !== null)
    await integration.dropRef(tree.repository, removal.savedRef);
  return true;
}
