import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';
import { workspaceRoot } from '../workspace-root.ts';
import { pruneLines, strayLines, worktreeLines } from './worktree-lines.ts';

export interface WorktreesOptions {
  all?: boolean;
  disk?: boolean;
  dryRun?: boolean;
  saveLarge?: boolean;
}

/** `squad worktrees`: each with its run, what is in it, and why it is still there. */
export async function listWorktrees({ all, disk }: WorktreesOptions, context: CliContext): Promise<number> {
  const listed = await HubClient.ask({ workspace: context.workspace }, 'list_worktrees', {
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
  const pruned = await HubClient.ask({ workspace: context.workspace }, 'prune_worktrees', {
    ...within(all, context),
    ...(runs.length > 0 && { ids: runs }),
    dryRun: dryRun === true,
    ...(saveLarge && { saveLarge }),
  });
  if (context.json) printJson(context.out, pruned);
  else print(context, pruneLines(pruned, context));
  return runs.length > 0 && pruned.worktrees.some(each => !each.removed) ? EXIT.failed : EXIT.done;
}

const within = (all: boolean | undefined, { workspace }: CliContext): { workspace?: string } =>
  all ? {} : { workspace: workspaceRoot(workspace) };
