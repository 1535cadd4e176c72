import type { z } from 'zod';
import type { listWorktrees as listOperation } from '../../operations/list-worktrees.ts';
import type { pruneWorktrees as pruneOperation } from '../../operations/prune-worktrees.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../output/json.ts';
import { pruneLines, strayLines, worktreeLines } from '../output/worktree-lines.ts';
import { workspaceRoot } from '../workspace-root.ts';

type Listed = z.output<typeof listOperation.output>;
type Pruned = z.output<typeof pruneOperation.output>;

export interface WorktreesOptions {
  all?: boolean;
  disk?: boolean;
  dryRun?: boolean;
  saveLarge?: boolean;
}

/** `squad worktrees`: each with its run, what is in it, and why it is still there. */
export async function listWorktrees({ all, disk }: WorktreesOptions, context: CliContext): Promise<number> {
  const listed = await asking<Listed>(context, 'list_worktrees', {
    ...within(all, context),
    disk: disk === true,
  });
  if (context.json) printJson(context.out, listed);
  else
    print(context, [
      ...worktreeLines(listed.worktrees, all === true, context),
      ...strayLines(listed.strays, context),
    ]);
  return EXIT.done;
}

/** `squad worktrees prune`: exit code 1 when one that was named is still there. */
export async function pruneWorktrees(
  runs: string[],
  { all, dryRun, saveLarge }: WorktreesOptions,
  context: CliContext,
): Promise<number> {
  const pruned = await asking<Pruned>(context, 'prune_worktrees', {
    ...within(all, context),
    ...(runs.length > 0 && { ids: runs }),
    dryRun: dryRun === true,
    ...(saveLarge && { saveLarge }),
  });
  if (context.json) printJson(context.out, pruned);
  else print(context, pruneLines(pruned, context));
  return runs.length > 0 && pruned.worktrees.some(each => !each.removed) ? EXIT.failed : EXIT.done;
}

async function asking<T>(context: CliContext, operation: string, input: object): Promise<T> {
  const client = await HubClient.start({ workspace: context.workspace });
  return client.call<T>(operation, input).finally(() => client.close());
}

const within = (all: boolean | undefined, { workspace }: CliContext): { workspace?: string } =>
  all ? {} : { workspace: workspaceRoot(workspace) };
