import type { z } from 'zod';
import type { listInbox, ShownItem } from '../../operations/list-inbox.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { answerHint, settledWord, settledWords } from '../output/ask-words.ts';
import { formatDateTime, formatDuration } from '../output/duration.ts';
import { printJson } from '../output/json.ts';
import { oneLine, sanitize } from '../output/sanitize.ts';
import { wrap } from '../output/wrap.ts';
import { wholeNumber } from '../whole-number.ts';

/** `squad inbox`: what agents wait for an answer to; with --all also what became of the rest. */
export async function inboxCommand(
  { all, limit }: { all?: boolean; limit?: string },
  context: CliContext,
): Promise<number> {
  const most = wholeNumber('--limit', limit ?? '50', 1, 500);
  const client = await HubClient.start();
  const listed = await client
    .call<z.output<typeof listInbox.output>>('list_inbox', { state: all ? 'all' : 'open', limit: most })
    .finally(() => client.close());
  const { items } = listed;
  if (context.json) printJson(context.out, listed);
  else if (items.length === 0)
    print(context, [
      all ? 'No agent has asked anything yet.' : 'No agent waits for an answer.',
      context.style.dim(
        all ? 'They ask with the tool ask_user.' : 'squad inbox --all has what was asked before.',
      ),
    ]);
  else
    print(
      context,
      items.flatMap((item, i) => [...(i > 0 ? [''] : []), ...itemLines(item, context)]),
    );
  return EXIT.done;
}

/** One item: who asks what, what to know, and how to answer or what was answered. */
export function itemLines(item: ShownItem, { out, style }: CliContext): string[] {
  const { run, source, details, choices, fields } = item;
  const who =
    run.roleId === null ? item.runId : `${style.role(run.roleId, oneLine(run.roleId))} ${item.runId}`;
  const head = [
    style.bold(item.id),
    item.state === 'open' ? style.yellow(item.kind) : settledWord(item),
    who,
    ...(source === null ? [] : [`by ${oneLine(source)}`]),
    ...(item.owner === 'user' ? [] : [`asks ${item.owner}`]),
    style.dim(
      item.state === 'open'
        ? `${formatDuration(Math.max(0, item.deadlineAt - Date.now()))} left`
        : formatDateTime(item.createdAt),
    ),
  ];
  const indented = (text: string) => wrap(sanitize(text).trim(), out.columns - 2).map(line => `  ${line}`);
  const isListed = item.kind === 'question' && choices.length > 0;
  return [
    head.join('  '),
    ...indented(item.question),
    ...(details === null ? [] : indented(details).map(line => style.dim(line))),
    ...(isListed ? choices.map((choice, i) => `  ${i + 1}  ${oneLine(choice)}`) : []),
    ...fields.map(
      field => `  ${oneLine(field.name)}: ${oneLine(field.title)}${field.isRequired ? '' : ' (optional)'}`,
    ),
    item.state === 'open'
      ? `  ${answerHint(item)}${item.default === null ? '' : style.dim(`   if nobody does: ${oneLine(item.default)}`)}`
      : `  ${settledWords(item)}`,
  ];
}
