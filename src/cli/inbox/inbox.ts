import { createInterface } from 'node:readline/promises';
import { visibleLine, visibleText } from '../../base/text.ts';
import type { ShownItem } from '../../operations/inbox/inbox.ts';
import type { Output } from '../../operations/operations.ts';
import { SquadError } from '../../schema/error.ts';
import { DECLINE, type InboxField } from '../../schema/inbox.ts';
import { readInput } from '../arguments.ts';
import { type CliContext, hiddenWarningLines, print, printResult } from '../context.ts';
import { HubClient } from '../hub-client.ts';
import { formatDateTime, formatDuration } from '../terminal/duration.ts';
import { wrap } from '../terminal/width.ts';
import { answerHint, closedItemText } from './ask-text.ts';

export interface InboxOptions {
  all?: boolean;
  limit: number;
}

/** `squad inbox`: lists open questions of agents; with --all also closed ones. */
export async function inboxCommand({ all, limit }: InboxOptions, context: CliContext): Promise<number> {
  const listed = await HubClient.ask({}, 'list_inbox', { state: all ? 'all' : 'open', limit });
  const { items, total } = listed;
  return printResult(context, listed, () =>
    items.length === 0
      ? [
          all ? 'No questions yet.' : 'No open questions.',
          context.style.dim(
            all ? 'Agents ask with the tool ask_user.' : '`squad inbox --all` lists earlier questions.',
          ),
        ]
      : [
          ...items.flatMap((item, i) => [...(i > 0 ? [''] : []), ...itemLines(item, context)]),
          ...moreLines(total, items.length, context),
        ],
  );
}

function moreLines(total: number | null, shown: number, { style }: CliContext): string[] {
  if (total === shown) return [];
  const more = total === null ? 'There are more' : `${total - shown} more`;
  return ['', style.dim(`${more}: \`squad inbox --limit N\` lists up to 1000`)];
}

/** Lines of one item: the agent, the question with its details, and how to answer it, or the answer it got. */
function itemLines(item: ShownItem, { out, style }: CliContext): string[] {
  const { run, source, details, choices, fields } = item;
  const who = `${style.role(run.name, visibleLine(run.name))} ${item.runId}`;
  const head = [
    style.bold(item.id),
    item.state === 'open' ? style.yellow(item.kind) : item.state,
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
    ...fields.map(field => `  ${describeField(field)}`),
    ...(item.state === 'open' ? askWarning(item, { out, style }) : []),
    item.state === 'open'
      ? `  ${answerHint(item)}${style.dim(` or --decline   default: ${describeDefault(item)}`)}`
      : `  ${closedItemText(item)}`,
  ];
}

function askWarning(
  { question, details, choices, fields }: ShownItem,
  context: Pick<CliContext, 'out' | 'style'>,
): string[] {
  const fieldTexts = fields.flatMap(field => [
    field.name,
    field.title,
    field.description ?? '',
    ...field.choices,
  ]);
  const all = [question, details ?? '', ...choices, ...fieldTexts].join('\n');
  return hiddenWarningLines(all, 'This', context).map(line => `  ${line}`);
}

/** Outcome if nobody answers in time. */
const describeDefault = ({ default: usual }: ShownItem): string =>
  usual === null ? 'continue without an answer' : visibleLine(usual);

function describeField({ name, title, description, choices, isRequired }: InboxField): string {
  const more = [
    ...(choices.length > 0 ? [choices.map(visibleLine).join(' | ')] : []),
    ...(description === null ? [] : [visibleLine(description)]),
    ...(isRequired ? [] : ['optional']),
  ];
  return `${visibleLine(name)}: ${visibleLine(title)}${more.length > 0 ? ` (${more.join('; ')})` : ''}`;
}

/** `squad answer ITEM [ANSWER]`: answers a question; without an answer it prompts for one. */
export async function answerCommand(
  given: string,
  words: string[],
  { decline }: { decline?: boolean },
  context: CliContext,
): Promise<number> {
  using client = await HubClient.start();
  const isStdin = words.length === 1 && words[0] === '-';
  const answered =
    words.length === 0 && !decline
      ? await promptForAnswer(client, given, context)
      : await client.call('answer_question', {
          item: given,
          ...(words.length > 0 && { answer: isStdin ? await readInput() : words.join(' ') }),
          ...(decline && { decline }),
        });
  return printResult(context, answered, () => [
    `${context.style.green(answered.state)}  ${answered.id}  ${visibleLine(answered.answer ?? '')}`.trimEnd(),
  ]);
}

/** Prompts until the hub accepts the answer. */
async function promptForAnswer(
  client: HubClient,
  given: string,
  context: CliContext,
): Promise<Output<'answer_question'>> {
  const { items } = await client.call('list_inbox', { item: given });
  const item = items[0]!;
  const send = (answer: string) => client.call('answer_question', { item: item.id, answer });
  // Sends an empty answer to a closed item, because the hub then reports why the item is closed.
  if (item.state !== 'open') return send('');
  if (context.json || !process.stdin.isTTY || !context.out.isTTY)
    throw new SquadError(
      'ANSWER_NEEDED',
      `An answer to ${item.id} is needed, but this is not an interactive terminal: ${visibleLine(item.question)}`,
      { suggestions: [answerHint(item)] },
    );
  print(context, itemLines(item, context));
  const prompt = createInterface({ input: process.stdin, output: process.stdout });
  try {
    for (;;) {
      const answer =
        item.fields.length > 0 ? await promptForFields(item, prompt) : await prompt.question('Answer: ');
      try {
        return await send(answer);
      } catch (thrown) {
        if (!(thrown instanceof SquadError) || thrown.code !== 'ANSWER_INVALID') throw thrown;
        print(context, [
          context.style.yellow(visibleLine(thrown.message)),
          ...thrown.suggestions.map(visibleLine),
        ]);
      }
    }
  } finally {
    prompt.close();
  }
}

async function promptForFields(
  { fields }: ShownItem,
  prompt: { question(text: string): Promise<string> },
): Promise<string> {
  const values: Record<string, string> = {};
  for (const { name, choices, isRequired } of fields) {
    const hint = [...choices.map(visibleLine), ...(isRequired ? [] : ['leave empty for none'])].join(', ');
    const value = await prompt.question(`${visibleLine(name)}${hint === '' ? '' : ` (${hint})`}> `);
    if (value.trim() !== '') values[name] = value.trim();
  }
  const confirmed = await prompt.question('Send this? [Y/n] ');
  return /^n/i.test(confirmed.trim()) ? DECLINE : JSON.stringify(values);
}
