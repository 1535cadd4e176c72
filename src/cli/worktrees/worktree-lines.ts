import { sizeWords } from '../../base/size-words.ts';
import { visibleLine } from '../../base/visible-text.ts';
import type { Output } from '../../operations/operations.ts';
import type { ListedWorktree } from '../../operations/worktrees/list-worktrees.ts';
import type { CliContext } from '../context.ts';
import { paintStatus, statusWord } from '../terminal/status-word.ts';
import { formatTable } from '../terminal/table.ts';
import { wrap } from '../terminal/wrap.ts';

const INDENT = '  ';

/** A row each, and under it its branch, where it is and why it is still there. */
export function worktreeLines(
  worktrees: ListedWorktree[],
  all: boolean,
  { out, style }: CliContext,
): string[] {
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
      paintStatus(last.status, statusWord(last.status), style),
      ahead === null ? '–' : String(ahead),
      uncommitted === null ? '–' : String(uncommitted),
      ...(hasSizes ? [bytes === null ? '–' : sizeWords(bytes)] : []),
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
export function strayLines(strays: string[], { out, style }: CliContext): string[] {
  if (strays.length === 0) return [];
  const what =
    'No run is known for these folders. Look at them, then remove them by hand (git worktree remove):';
  return [
    '',
    ...wrap(what, out.columns).map(style.yellow),
    ...strays.map(path => INDENT + visibleLine(path)),
  ];
}

export function pruneLines(
  { worktrees, dryRun }: Output<'prune_worktrees'>,
  { out, style }: CliContext,
): string[] {
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
