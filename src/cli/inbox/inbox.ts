import { createInterface } from 'node:readline/promises';
import { visibleLine, visibleText } from '../../base/text.ts';
import type { ShownItem } from '../../operations/inbox/list-inbox.ts';
import type { Output } from '../../operations/operations.ts';
import { SquadError } from '../../schema/error.ts';
import { DECLINE, type InboxField } from '../../schema/inbox.ts';
import { readInput, wholeNumber } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { formatDateTime, formatDuration } from '../terminal/duration.ts';
import { hiddenWarningLines } from '../terminal/hidden-warning.ts';
import { printJson } from '../terminal/json.ts';
import { wrap } from '../terminal/width.ts';
import { answerHint, closedItemText, closedText } from './ask-text.ts';

/** `squad inbox`: what agents wait for an answer to; with --all also what became of the rest. */
export async function inboxCommand(
  { all, limit }: { all?: boolean; limit?: string },
  context: CliContext,
): Promise<number> {
  const most = wholeNumber('--limit', limit ?? '50', 1, 1_000);
  const listed = await HubClient.ask({}, 'list_inbox', { state: all ? 'all' : 'open', limit: most });
  const { items, total } = listed;
  if (context.json) printJson(context.out, listed);
  else if (items.length === 0)
    print(context, [
      all ? 'No agent has asked anything yet.' : 'No agent waits for an answer.',
      context.style.dim(
        all ? 'They ask with the tool ask_user.' : 'squad inbox --all has what was asked before.',
      ),
    ]);
  else
    print(context, [
      ...items.flatMap((item, i) => [...(i > 0 ? [''] : []), ...itemLines(item, context)]),
      ...moreLines(total, items.length, context),
    ]);
  return EXIT.done;
}

function moreLines(total: number | null, shown: number, { style }: CliContext): string[] {
  if (total === shown) return [];
  const more = total === null ? 'There are more' : `${total - shown} more`;
  return ['', style.dim(`${more}: squad inbox --limit N shows up to 1000`)];
}

/** One item: who asks what, what to know, and how to answer or what was answered. */
function itemLines(item: ShownItem, { out, style }: CliContext): string[] {
  const { run, source, details, choices, fields } = item;
  const who = `${style.role(run.name, visibleLine(run.name))} ${item.runId}`;
  const head = [
    style.bold(item.id),
    item.state === 'open' ? style.yellow(item.kind) : closedText(item),
    who,
    ...(source === null ? [] : [`by ${visibleLine(source)}`]),
    ...(item.owner === 'user' ? [] : [`asks ${item.owner}`]),
    style.dim(
      item.state === 'open'
        ? `${formatDuration(Math.max(0, item.deadlineAt - Date.now()))} left`
        : formatDateTime(item.createdAt),
    ),
  ];
  const indented = (text: string) => wrap(visibleText(text).trim(), out.columns - 2).map(line => `  ${line}`);
  const isListed = item.kind === 'question' && choices.length > 0;
  return [
    head.join('  '),
    ...indented(item.question),
    ...(details === null ? [] : indented(details).map(line => style.dim(line))),
    ...(isListed ? choices.map((choice, i) => `  ${i + 1}  ${visibleLine(choice)}`) : []),
    ...fields.map(field => `  ${fieldWords(field)}`),
    ...(item.state === 'open' ? askWarning(item, { out, style }) : []),
    item.state === 'open'
      ? `  ${answerHint(item)}${style.dim(` or --decline   if nobody does: ${unansweredWords(item)}`)}`
      : `  ${closedItemText(item)}`,
  ];
}

function askWarning(
  { question, details, choices, fields }: ShownItem,
  context: Pick<CliContext, 'out' | 'style'>,
): string[] {
  const ofFields = fields.flatMap(field => [
    field.name,
    field.title,
    field.description ?? '',
    ...field.choices,
  ]);
  const all = [question, details ?? '', ...choices, ...ofFields].join('\n');
  return hiddenWarningLines(all, 'This', context).map(line => `  ${line}`);
}

/** Text for the outcome of an item that nobody answers in time. */
const unansweredWords = ({ default: usual }: ShownItem): string =>
  usual === null ? 'it goes on without an answer' : visibleLine(usual);

function fieldWords({ name, title, description, choices, isRequired }: InboxField): string {
  const more = [
    ...(choices.length > 0 ? [choices.map(visibleLine).join(' | ')] : []),
    ...(description === null ? [] : [visibleLine(description)]),
    ...(isRequired ? [] : ['optional']),
  ];
  return `${visibleLine(name)}: ${visibleLine(title)}${more.length > 0 ? ` (${more.join('; ')})` : ''}`;
}

/** `squad answer ITEM [ANSWER]`: without words, whoever is at the terminal is asked. */
export async function answerCommand(
  given: string,
  words: string[],
  { decline }: { decline?: boolean },
  context: CliContext,
): Promise<number> {
  const client = await HubClient.start();
  try {
    const answered =
      words.length === 0 && !decline
        ? await answerHere(client, given, context)
        : await client.call('answer_question', {
            item: given,
            ...(words.length > 0 && { answer: await spoken(words) }),
            ...(decline && { decline }),
          });
    if (context.json) printJson(context.out, answered);
    else
      print(context, [
        `${context.style.green(answered.state)}  ${answered.id}  ${visibleLine(answered.answer ?? '')}`.trimEnd(),
      ]);
    return EXIT.done;
  } finally {
    client.close();
  }
}

type Answered = Output<'answer_question'>;

const send = (client: HubClient, item: string, answer: string): Promise<Answered> =>
  client.call('answer_question', { item, answer });

const spoken = async (words: string[]): Promise<string> =>
  words.length === 1 && words[0] === '-' ? readInput() : words.join(' ');

/** Whoever is there is asked until the answer is one. */
async function answerHere(client: HubClient, given: string, context: CliContext): Promise<Answered> {
  const { items } = await client.call('list_inbox', { item: given });
  const item = items[0]!;
  // The hub says what became of it.
  if (item.state !== 'open') return send(client, item.id, '');
  if (context.json || !process.stdin.isTTY || !context.out.isTTY)
    throw new SquadError(
      'ANSWER_NEEDED',
      `Nobody is at the terminal to answer ${item.id}: ${visibleLine(item.question)}`,
      {
        suggestions: [answerHint(item)],
      },
    );
  print(context, itemLines(item, context));
  const asking = createInterface({ input: process.stdin, output: process.stdout });
  try {
    for (;;) {
      const said = item.fields.length > 0 ? await form(item, asking) : await asking.question('Answer: ');
      try {
        return await send(client, item.id, said);
      } catch (thrown) {
        if (!(thrown instanceof SquadError) || thrown.code !== 'ANSWER_INVALID') throw thrown;
        print(context, [
          context.style.yellow(visibleLine(thrown.message)),
          ...thrown.suggestions.map(visibleLine),
        ]);
      }
    }
  } finally {
    asking.close();
  }
}

async function form(
  { fields }: ShownItem,
  asking: { question(text: string): Promise<string> },
): Promise<string> {
  const values: Record<string, string> = {};
  for (const { name, choices, isRequired } of fields) {
    const hint = [...choices.map(visibleLine), ...(isRequired ? [] : ['empty: none'])].join(', ');
    const value = await asking.question(`${visibleLine(name)}${hint === '' ? '' : ` (${hint})`}> `);
    if (value.trim() !== '') values[name] = value.trim();
  }
  const goesOn = await asking.question('Send this? [Y/n] ');
  return /^n/i.test(goesOn.trim()) ? DECLINE : JSON.stringify(values);
}
