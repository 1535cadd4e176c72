import { formatBytes, visibleLine } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import type { ListedWorktree } from '../../operations/worktrees/list-worktrees.ts';
import { workspaceRoot } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';
import { paintStatus, statusText } from '../terminal/status-text.ts';
import { formatTable } from '../terminal/table.ts';
import { wrap } from '../terminal/width.ts';

const INDENT = '  ';

/** A row each, and under it its branch, where it is and why it is still there. */
function worktreeLines(worktrees: ListedWorktree[], all: boolean, { out, style }: CliContext): string[] {
  if (worktrees.length === 0)
    return [
      all ? 'No work trees.' : 'No work trees of this repository.',
      'A run gets one by isolation: worktree or auto in its role, or squad run --worktree.',
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
  return [title, ...rows.flatMap((row, i) => [row, ...explained(worktrees[i]!)])];

  function rowOf({ runs, ahead, uncommitted, bytes, prune }: ListedWorktree): string[] {
    const last = runs.at(-1)!;
    return [
      last.id,
      paintStatus(last.status, statusText(last.status), style),
      ahead === null ? '–' : String(ahead),
      uncommitted === null ? '–' : String(uncommitted),
      ...(hasSizes ? [bytes === null ? '–' : formatBytes(bytes)] : []),
      prune === 'remove' ? style.yellow('removes') : 'keeps',
    ];
  }

  function explained({ path, branch, why, folder, trouble }: ListedWorktree): string[] {
    const state = folder === 'missing' ? ' (not there)' : '';
    const words = [why, ...(trouble && !why.includes(trouble) ? [trouble] : [])];
    return [
      `branch ${visibleLine(branch)}`,
      `${visibleLine(path)}${state}`,
      ...words.map(visibleLine),
    ].flatMap(line => wrap(line, out.columns - INDENT.length).map(part => style.dim(INDENT + part)));
  }
}

/** Folders among the work trees that belong to no run. */
function unknownFolderLines(strays: string[], { out, style }: CliContext): string[] {
  if (strays.length === 0) return [];
  const what =
    'No run is known for these folders. Look at them, then remove them by hand (git worktree remove):';
  return [
    '',
    ...wrap(what, out.columns).map(style.yellow),
    ...strays.map(path => INDENT + visibleLine(path)),
  ];
}

function pruneLines({ worktrees, dryRun }: Output<'prune_worktrees'>, { out, style }: CliContext): string[] {
  if (worktrees.length === 0) return ['No work trees to look at.'];
  const gone = worktrees.filter(({ removed }) => removed).length;
  const verb = dryRun ? 'would be removed' : 'removed';
  return [
    ...worktrees.flatMap(({ runIds, removed, why, savedRef, branch, branchIsGone }) => {
      const word = removed ? style.green(verb) : style.yellow('kept');
      const more = [
        ...(savedRef ? [`what was not committed: ${savedRef}`] : []),
        ...(removed && !dryRun && !branchIsGone ? [`branch: ${branch}`] : []),
      ];
      return [
        `${runIds.at(-1)}  ${word}`,
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
      ...unknownFolderLines(listed.strays, context),
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
