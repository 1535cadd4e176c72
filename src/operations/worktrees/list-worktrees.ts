import { z } from 'zod';
import { judgeWorktree } from '../../core/worktrees/removal.ts';
import { RunId } from '../../schema/ids.ts';
import { RunStatus } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { Worktree } from '../../schema/worktree.ts';
import { operation, type Services } from '../operation.ts';
import { type KnownWorktree, knownWorktrees, unknownFolders } from './known-worktrees.ts';

/** Each takes a handful of git processes. */
const AT_ONCE = 4;

export const ListedWorktree = z.object({
  ...Worktree.shape,
  /** Runs that use it, the one it was made for first. */
  runs: z.array(
    z.object({ id: RunId, name: z.string(), status: z.enum([...RunStatus.options, 'needs_you']) }),
  ),
  folder: z.enum(['there', 'missing', 'foreign']),
  tip: z.string().nullable(),
  ahead: z.number().nullable(),
  isMerged: z.boolean().nullable(),
  uncommitted: z.number().nullable(),
  processes: z.array(z.object({ pid: z.number(), command: z.string() })),
  /** Why it cannot be removed as it is. */
  held: z.string().nullable(),
  /** Why removing it needs `saveLarge`. */
  large: z.string().nullable(),
  trouble: z.string().nullable(),
  /** Null unless asked for. */
  bytes: z.number().nullable(),
  /** Decision of pruning about it, with its reason. */
  prune: z.enum(['remove', 'keep']),
  why: z.string(),
});
export type ListedWorktree = z.infer<typeof ListedWorktree>;

export const listWorktrees = operation({
  name: 'list_worktrees',
  route: 'GET /worktrees',
  input: z.strictObject({ workspace: z.string().optional(), disk: z.boolean().default(false) }),
  output: z.object({
    worktrees: z.array(ListedWorktree),
    /** Folders where work trees are kept that no run is known for. */
    strays: z.array(z.string()),
  }),
  async run({ services }, { workspace, disk }) {
    const known = await knownWorktrees(services, workspace);
    const worktrees: ListedWorktree[] = [];
    for (let at = 0; at < known.length; at += AT_ONCE)
      worktrees.push(
        ...(await Promise.all(known.slice(at, at + AT_ONCE).map(each => listed(services, each, disk)))),
      );
    return { worktrees, strays: await unknownFolders(services) };
  },
});

async function listed(
  { worktrees }: Services,
  { worktree, runs }: KnownWorktree,
  disk: boolean,
): Promise<ListedWorktree> {
  const [state, bytes] = await Promise.all([
    worktrees.state(worktree),
    disk ? worktrees.bytes(worktree) : null,
  ]);
  const { error, ...shown } = state;
  return {
    ...worktree,
    runs: runs.map(run => ({ id: run.id, name: runName(run), status: shownStatus(run) })),
    ...shown,
    trouble: error,
    bytes,
    ...judgeWorktree({ worktree, runs, state, isNamed: false }),
  };
}
