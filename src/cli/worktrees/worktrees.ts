import { formatBytes, visibleLine } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import type { ListedWorktree } from '../../operations/worktrees/worktrees.ts';
import { requireRepository, workspaceFilter } from '../arguments.ts';
import { type CliContext, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { paintStatus } from '../terminal/status-text.ts';
import { formatTable } from '../terminal/table.ts';
import { wrap } from '../terminal/width.ts';

const INDENT = '  ';

/** A row for each work tree, with its branch, its path and why it still exists below it. */
function worktreeLines(worktrees: ListedWorktree[], all: boolean, { out, style }: CliContext): string[] {
  if (worktrees.length === 0)
    return [
      all ? 'No work trees.' : 'No work trees in this repository.',
      withOwnCommand(
        'Runs get one with `isolation: worktree` or `auto` in their role, or with squad run --worktree.',
      ),
    ];
  const hasSizes = worktrees.some(({ bytes }) => bytes !== null);
  const columns = [
    { title: 'run' },
    { title: 'state' },
    { title: 'commits', align: 'right' as const },
    { title: 'uncommitted', align: 'right' as const },
    ...(hasSizes ? [{ title: 'size', align: 'right' as const }] : []),
    { title: 'prune' },
  ];
  const [title = '', ...rows] = formatTable(columns, worktrees.map(rowOf), out.columns, style);
  return [title, ...rows.flatMap((row, i) => [row, ...details(worktrees[i]!)])];

  function rowOf({ runs, ahead, uncommitted, bytes, prune }: ListedWorktree): string[] {
    const last = runs.at(-1)!;
    return [
      last.id,
      paintStatus(last.status, style),
      ahead === null ? '–' : String(ahead),
      uncommitted === null ? '–' : String(uncommitted),
      ...(hasSizes ? [bytes === null ? '–' : formatBytes(bytes)] : []),
      prune === 'remove' ? style.yellow('removes') : 'keeps',
    ];
  }

  function details({ path, branch, why, folder, trouble: error }: ListedWorktree): string[] {
    const state = folder === 'missing' ? ' (missing)' : '';
    const reasons = [why, ...(error && !why.includes(error) ? [error] : [])];
    return [
      `branch ${visibleLine(branch)}`,
      `${visibleLine(path)}${state}`,
      ...reasons.map(visibleLine),
    ].flatMap(line => wrap(line, out.columns - INDENT.length).map(part => style.dim(INDENT + part)));
  }
}

/** Folders among the work trees that do not belong to any run. */
function unknownFolderLines(strays: string[], { out, style }: CliContext): string[] {
  if (strays.length === 0) return [];
  const what = 'No run is known for these folders. Check them, then remove them with git worktree remove:';
  return [
    '',
    ...wrap(what, out.columns).map(style.yellow),
    ...strays.map(path => INDENT + visibleLine(path)),
  ];
}

function pruneLines({ worktrees, dryRun }: Output<'prune_worktrees'>, { out, style }: CliContext): string[] {
  if (worktrees.length === 0) return ['No work trees to remove.'];
  const gone = worktrees.filter(({ removed }) => removed).length;
  const verb = dryRun ? 'would be removed' : 'removed';
  return [
    ...worktrees.flatMap(({ runIds, removed, why, savedRef, branch, branchIsGone }) => {
      const result = removed ? style.green(verb) : style.yellow('kept');
      const more = [
        ...(savedRef ? [`uncommitted changes saved as ${savedRef}`] : []),
        ...(removed && !dryRun && !branchIsGone ? [`branch: ${branch}`] : []),
      ];
      return [
        `${runIds.at(-1)}  ${result}`,
        ...[why, ...more].flatMap(line =>
          wrap(visibleLine(line), out.columns - INDENT.length).map(part => style.dim(INDENT + part)),
        ),
      ];
    }),
    `${gone} of ${worktrees.length} ${verb}.`,
  ];
}

interface WorktreesOptions {
  all?: boolean;
  disk?: boolean;
  dryRun?: boolean;
  saveLarge?: boolean;
}

/** `squad worktrees`: lists work trees with their runs and contents, and why they still exist. */
export async function listWorktrees({ all, disk }: WorktreesOptions, context: CliContext): Promise<number> {
  const listed = await HubClient.ask({ workspace: context.workspace }, 'list_worktrees', {
    ...workspaceFilter(all, context),
    disk: disk === true,
  });
  if (!all && listed.worktrees.length === 0) await requireRepository(context);
  return printResult(context, listed, () => [
    ...worktreeLines(listed.worktrees, all === true, context),
    ...unknownFolderLines(listed.strays, context),
  ]);
}

/** `squad worktrees prune`: removes work trees. Exit code 1 if a named work tree was kept. */
export async function pruneWorktrees(
  runs: string[],
  { all, dryRun, saveLarge }: WorktreesOptions,
  context: CliContext,
): Promise<number> {
  const pruned = await HubClient.ask({ workspace: context.workspace }, 'prune_worktrees', {
    ...workspaceFilter(all, context),
    ...(runs.length > 0 && { ids: runs }),
    dryRun: dryRun === true,
    ...(saveLarge && { saveLarge }),
  });
  if (!all && pruned.worktrees.length === 0) await requireRepository(context);
  printResult(context, pruned, () => pruneLines(pruned, context));
  return runs.length > 0 && pruned.worktrees.some(each => !each.removed) ? EXIT.failed : EXIT.done;
}
