import { visibleLine } from '../../base/text.ts';
import type { Input, Output } from '../../operations/operations.ts';
import { SquadError } from '../../schema/error.ts';
import { wholeNumber } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';
import { truncate } from '../terminal/width.ts';
import { tellNotes } from './team.ts';

type Listed = Output<'list_backlog'>;
type Item = Listed['groups'][number]['items'][number];

/** `squad backlog`: what `.squad/backlog.md` holds. */
export async function backlogCommand(context: CliContext): Promise<number> {
  const listed = await HubClient.ask({ workspace: context.workspace }, 'list_backlog');
  if (context.json) {
    printJson(context.out, listed);
    return EXIT.done;
  }
  tellNotes(listed.notes, context);
  print(context, lines(listed, context));
  return EXIT.done;
}

type Edit = Omit<Input<'edit_backlog'>, 'revision'>;

const SAID = {
  add: 'Added as item',
  done: 'Done:',
  reopen: 'Open again:',
  move: 'Now item',
  up: 'Now item',
  down: 'Now item',
} as const;

/** `squad backlog add|done|reopen|move`: one change of the file. */
export async function editBacklogCommand(edit: Edit, context: CliContext): Promise<number> {
  const changed = await HubClient.ask({ workspace: context.workspace }, 'edit_backlog', edit);
  const { number, title } = changed;
  if (context.json) printJson(context.out, changed);
  else print(context, [`${SAID[edit.action]} ${number} ${context.style.bold(visibleLine(title))}`]);
  return EXIT.done;
}

export interface MoveOptions {
  before?: string;
  up?: boolean;
  down?: boolean;
}

export function moveOf(item: string, { before, up, down }: MoveOptions): Edit {
  const number = itemNumber('N', item);
  const ways = [before, up, down].filter(way => way !== undefined);
  if (ways.length !== 1)
    throw new SquadError('INVALID_INPUT', 'Say one place to move it to', {
      suggestions: ['--before M, --up or --down. `squad backlog` shows the numbers.'],
    });
  if (before === undefined) return { action: up ? 'up' : 'down', number };
  return { action: 'move', number, before: itemNumber('--before', before) };
}

export const itemNumber = (name: string, given: string): number => wholeNumber(name, given, 1, 100_000);

function lines({ groups }: Listed, { style, out }: CliContext): string[] {
  const filled = groups.filter(({ items }) => items.length > 0);
  if (filled.length === 0)
    return [
      'Nothing in the backlog.',
      style.dim('Items are `- [ ] Title [P1] @owner (#12)` under `##` headings in .squad/backlog.md.'),
    ];
  const shown = filled.flatMap(({ title, items }, at) => {
    const open = items.filter(({ done }) => !done).length;
    return [
      ...(at > 0 ? [''] : []),
      `${style.bold(visibleLine(title ?? 'Backlog'))} ${style.dim(`${open} of ${items.length} open`)}`,
      ...items.map(item => truncate(`  ${itemLine(item, style)}`, out.columns)),
    ];
  });
  return shown;
}

function itemLine(
  { number, title, done, issue, owner, priority, notes }: Item,
  style: CliContext['style'],
): string {
  const words = [
    style.dim(String(number).padStart(2)),
    done ? style.green('✓') : '○',
    done ? style.dim(visibleLine(title)) : visibleLine(title),
    ...(priority === null ? [] : [style.yellow(visibleLine(priority))]),
    ...(owner === null ? [] : [style.role(owner, `@${visibleLine(owner)}`)]),
    ...(issue === null ? [] : [style.dim(visibleLine(issue))]),
    ...(notes === null ? [] : [style.dim('…')]),
  ];
  return words.join(' ');
}
