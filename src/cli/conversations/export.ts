import { resolve } from 'node:path';
import { longestRepeat, visibleLine, visibleText, withoutColours } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import type { StoredMessage, TracePart } from '../../schema/conversation.ts';
import { moreCalls } from '../../schema/conversation-view.ts';
import { SquadError } from '../../schema/error.ts';
import { valueText } from '../../schema/run-text.ts';
import { type CliContext, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { writePrivateFile } from '../output/export.ts';
import { jsonLine } from '../terminal/json.ts';

/** One message as Markdown. Foreign text is fenced, so none of it can become a heading or a link. */
export function messageMarkdown({ role, at, content }: StoredMessage): string {
  const parts = content.map(partMarkdown);
  return [`## ${role}, ${new Date(at).toISOString()}`, ...parts].join('\n\n');
}

function partMarkdown(part: TracePart): string {
  switch (part.type) {
    case 'text':
      return fenced(part.text);
    case 'reasoning':
      return `Thinks:\n\n${fenced(part.text)}`;
    case 'file':
      return fenced(`${part.name} (${part.mediaType}, ${part.bytes} bytes)`);
    case 'tool_call':
      return `Calls ${called(part)}:\n\n${fenced(valueText(part.input))}`;
    case 'tool_result':
      return `${called(part)} ${part.isError ? 'failed' : 'answers'}:\n\n${fenced(valueText(part.output))}`;
    case 'more_calls':
      return `Not kept: ${moreCalls(part)}.`;
  }
}

/** A program makes many calls at once, so each is named with its id. */
const called = ({ id, name, within }: TracePart & { type: 'tool_call' | 'tool_result' }): string =>
  within === undefined ? code(name) : `${code(name)} (${code(id)})`;

function fenced(text: string): string {
  const plain = visibleText(withoutColours(text)).trimEnd();
  const fence = '`'.repeat(Math.max(3, longestTicks(plain) + 1));
  return `${fence}text\n${plain}\n${fence}`;
}

function code(name: string): string {
  const plain = visibleLine(name);
  const ticks = '`'.repeat(longestTicks(plain) + 1);
  return `${ticks} ${plain} ${ticks}`;
}

const longestTicks = (text: string): number => longestRepeat(text, /`+/g);

type ConversationPage = Output<'get_conversation'>;

/** Reads all messages of a run, page by page. */
export async function wholeConversation(client: HubClient, run: string): Promise<ConversationPage> {
  const ask = (after: number) => client.call('get_conversation', { run, after, isWhole: true });
  const first = await ask(0);
  for (let { next } = first; next !== null; ) {
    const page = await ask(next);
    first.messages.push(...page.messages);
    ({ next } = page);
  }
  return { ...first, next: null };
}

export interface ExportOptions {
  format: 'jsonl' | 'md';
  output?: string;
}

/** `squad conversation export RUN`: writes a conversation for other programs, to stdout or to a new file. */
export async function exportConversation(
  run: string,
  { format, output }: ExportOptions,
  context: CliContext,
): Promise<number> {
  using client = await HubClient.start({ workspace: context.workspace });
  const conversation = await wholeConversation(client, run);
  if (conversation.note !== null)
    throw new SquadError('INVALID_INPUT', `${conversation.run} has no conversation to export`, {
      suggestions: [conversation.note],
    });
  const text = format === 'md' ? markdown(conversation) : conversation.messages.map(jsonLine).join('');
  if (output === undefined) {
    context.out.write(text);
    return EXIT.done;
  }
  const file = resolve(output);
  await writePrivateFile(file, text, 'delete it first');
  const { run: id, messages } = conversation;
  return printResult(context, { run: id, file, format, messages: messages.length }, () => [file]);
}

const markdown = ({ label, messages }: ConversationPage): string =>
  `${[`# ${visibleLine(label)}`, ...messages.map(messageMarkdown)].join('\n\n')}\n`;
