import type { z } from 'zod';
import type { listBacklog } from '../../operations/list-backlog.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../output/json.ts';
import { oneLine } from '../output/sanitize.ts';
import { truncate } from '../output/width.ts';
import { tellNotes } from './decisions.ts';

type Listed = z.output<typeof listBacklog.output>;
type Item = Listed['groups'][number]['items'][number];

/** `squad backlog`: what `.squad/backlog.md` holds. */
export async function backlogCommand(context: CliContext): Promise<number> {
  const client = await HubClient.start({ workspace: context.workspace });
  const listed = await client.call<Listed>('list_backlog').finally(() => client.close());
  if (context.json) {
    printJson(context.out, listed);
    return EXIT.done;
  }
  tellNotes(listed.notes, context);
  print(context, lines(listed, context));
  return EXIT.done;
}

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
      `${style.bold(oneLine(title ?? 'Backlog'))} ${style.dim(`${open} of ${items.length} open`)}`,
      ...items.map(item => truncate(`  ${itemLine(item, style)}`, out.columns)),
    ];
  });
  return shown;
}

function itemLine({ title, done, issue, owner, priority, notes }: Item, style: CliContext['style']): string {
  const words = [
    done ? style.green('✓') : '○',
    done ? style.dim(oneLine(title)) : oneLine(title),
    ...(priority === null ? [] : [style.yellow(oneLine(priority))]),
    ...(owner === null ? [] : [style.role(owner, `@${oneLine(owner)}`)]),
    ...(issue === null ? [] : [style.dim(oneLine(issue))]),
    ...(notes === null ? [] : [style.dim('…')]),
  ];
  return words.join(' ');
}
