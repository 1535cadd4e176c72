import { visibleLine } from '../../base/text.ts';
import type { Input, Output } from '../../operations/operations.ts';
import { SquadError } from '../../schema/error.ts';
import { wholeNumber } from '../arguments.ts';
import { type CliContext, printNotes, printResult } from '../context.ts';
import { HubClient } from '../hub-client.ts';
import { truncate } from '../terminal/width.ts';

type Listed = Output<'list_backlog'>;
type Item = Listed['groups'][number]['items'][number];

/** `squad backlog`: lists the items of `.squad/backlog.md`. */
export async function backlogCommand(context: CliContext): Promise<number> {
  const listed = await HubClient.ask({ workspace: context.workspace }, 'list_backlog');
  if (!context.json) printNotes(context, listed.notes);
  return printResult(context, listed, () => lines(listed, context));
}

type Edit = Omit<Input<'edit_backlog'>, 'revision'>;

const RESULT = {
  add: 'Added as item',
  done: 'Done:',
  reopen: 'Open again:',
  move: 'Now item',
  up: 'Now item',
  down: 'Now item',
} as const;

/** `squad backlog add|done|reopen|move`: edits one item. */
export async function editBacklogCommand(edit: Edit, context: CliContext): Promise<number> {
  const changed = await HubClient.ask({ workspace: context.workspace }, 'edit_backlog', edit);
  const { number, title } = changed;
  return printResult(context, changed, () => [
    `${RESULT[edit.action]} ${number} ${context.style.bold(visibleLine(title))}`,
  ]);
}

export interface MoveOptions {
  before?: string;
  up?: boolean;
  down?: boolean;
}

export function moveOf(item: string, { before, up, down }: MoveOptions): Edit {
  const number = itemNumber('N', item);
  const places = [before, up, down].filter(place => place !== undefined);
  if (places.length !== 1)
    throw new SquadError('INVALID_INPUT', 'Expected one of --before M, --up or --down', {
      suggestions: ['`squad backlog` shows the numbers of the items.'],
    });
  if (before === undefined) return { action: up ? 'up' : 'down', number };
  return { action: 'move', number, before: itemNumber('--before', before) };
}

export const itemNumber = (name: string, given: string): number => wholeNumber(name, given, 1, 100_000);

function lines({ groups }: Listed, { style, out }: CliContext): string[] {
  const filled = groups.filter(({ items }) => items.length > 0);
  if (filled.length === 0)
    return [
      'The backlog is empty.',
      style.dim('Add items as `- [ ] Title [P1] @owner (#12)` under `##` headings in .squad/backlog.md.'),
    ];
  return filled.flatMap(({ title, items }, at) => {
    const open = items.filter(({ done }) => !done).length;
    return [
      ...(at > 0 ? [''] : []),
      `${style.bold(visibleLine(title ?? 'Backlog'))} ${style.dim(`${open} of ${items.length} open`)}`,
      ...items.map(item => truncate(`  ${itemLine(item, style)}`, out.columns)),
    ];
  });
}

function itemLine(
  { number, title, done, issue, owner, priority, notes }: Item,
  style: CliContext['style'],
): string {
  return [
    style.dim(String(number).padStart(2)),
    done ? style.green('✓') : '○',
    done ? style.dim(visibleLine(title)) : visibleLine(title),
    ...(priority === null ? [] : [style.yellow(visibleLine(priority))]),
    ...(owner === null ? [] : [style.role(owner, `@${visibleLine(owner)}`)]),
    ...(issue === null ? [] : [style.dim(visibleLine(issue))]),
    ...(notes === null ? [] : [style.dim('…')]),
  ].join(' ');
}
