import { resolve } from 'node:path';
import { formatBytes, longestRepeat, visibleLine, visibleText, withoutColours } from '../../base/text.ts';
import type { ShownPart } from '../../operations/conversations/conversations.ts';
import type { Output } from '../../operations/operations.ts';
import type { StoredMessage, TracePart } from '../../schema/conversation.ts';
import {
  callKey,
  type MadeCall,
  type MadeCalls,
  madeCalls,
  moreCalls,
  type NestedRun,
  runsByCall,
} from '../../schema/conversation-view.ts';
import { SquadError } from '../../schema/error.ts';
import { valueText } from '../../schema/run-text.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { type CliContext, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { writePrivateFile } from '../output/export.ts';
import { withOwnCommand } from '../own-command.ts';
import { formatDateTime } from '../terminal/duration.ts';
import { jsonLine } from '../terminal/json.ts';
import { statusText } from '../terminal/status-text.ts';
import type { Style } from '../terminal/style.ts';
import { truncate, wrap } from '../terminal/width.ts';

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
async function wholeConversation(client: HubClient, run: string): Promise<ConversationPage> {
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

interface PrintOptions {
  columns: number;
  style: Style;
  /** True to print complete tool inputs and results. */
  isFull: boolean;
}

const MAX_RESULT_LINES = 6;
/** Maximum number of lines of a tool result inside a program, which makes many calls. */
const MAX_NESTED_RESULT_LINES = 2;
const MAX_LINE_COLUMNS = 400;
const INDENT = '  ';

/** Prints messages of one conversation: the role, its text, and tool calls with their results. */
export class ConversationLines {
  private readonly options: PrintOptions;
  private readonly runs: ReadonlyMap<string, readonly NestedRun[]>;
  private readonly programs: ReadonlyMap<string, MadeCalls<TracePart>>;
  private readonly calls: ReadonlySet<string>;
  private before: string | null = null;

  /** Needs all messages, because the runs that a call started are identified by the time the call ended. */
  constructor(messages: readonly StoredMessage[], nested: readonly NestedRun[], options: PrintOptions) {
    this.options = options;
    this.runs = runsByCall(messages, nested);
    this.programs = madeCalls(messages);
    this.calls = new Set(
      messages.flatMap(message => message.content.flatMap(part => keyOfCall(message, part))),
    );
  }

  /** Lines of the next message. The calls of a program stand below the call that ran it. */
  of(message: StoredMessage): string[] {
    const { style } = this.options;
    const isProgram = message.role === 'program';
    if (isProgram && message.content.every(part => this.calls.has(callKey(message, programOf(part)))))
      return [];
    const hasGap = !isProgram && this.before !== null && message.parentId !== this.before;
    if (!isProgram) this.before = message.id;
    return [
      ...(hasGap ? [style.yellow('A message is missing here.'), ''] : []),
      `${style.bold(message.role)}  ${style.dim(formatDateTime(message.at))}`,
      ...message.content.flatMap(part => this.part(message, part)),
      '',
    ];
  }

  private part(message: StoredMessage, part: ShownPart): string[] {
    const { style } = this.options;
    switch (part.type) {
      case 'text':
        return this.text(part.text);
      case 'reasoning':
        return [style.dim(`${INDENT}thinks`), ...this.text(part.text).map(line => style.dim(line))];
      case 'file':
        return [`${INDENT}${visibleLine(part.name)}  ${part.mediaType}  ${formatBytes(part.bytes)}`];
      case 'tool_call': {
        const key = callKey(message, part.id);
        return [...this.call(part, INDENT), ...this.started(key, INDENT), ...this.made(key)];
      }
      case 'tool_result':
        return this.result(part, INDENT, MAX_RESULT_LINES);
      case 'more_calls':
        return [this.more(part, INDENT)];
    }
  }

  private made(key: string): string[] {
    const { calls, more } = this.programs.get(key) ?? { calls: [], more: null };
    return [
      ...calls.flatMap(made => this.madeCall(made, `${INDENT}${INDENT}`)),
      ...(more ? [this.more(more, `${INDENT}${INDENT}`)] : []),
    ];
  }

  private more(part: ShownPart & { type: 'more_calls' }, indent: string): string {
    return this.options.style.dim(`${indent}… ${moreCalls(part)}: not kept`);
  }

  private madeCall({ key, call, result }: MadeCall<TracePart>, indent: string): string[] {
    return [
      ...this.call(call, indent),
      ...this.started(key, indent),
      ...(result ? this.result(result, indent, MAX_NESTED_RESULT_LINES) : []),
    ];
  }

  private call({ name, input }: ShownPart & { type: 'tool_call' }, indent: string): string[] {
    const { style, columns, isFull } = this.options;
    const head = `${indent}→ ${style.bold(visibleLine(name))}`;
    if (isFull) return [head, ...this.block(valueText(input), indent)];
    const args = visibleLine(withoutColours(typeof input === 'string' ? input : JSON.stringify(input)));
    return [truncate(`${head} ${args}`, columns)];
  }

  private started(key: string, indent: string): string[] {
    const { style } = this.options;
    return (this.runs.get(key) ?? []).map(
      ({ id, subagent }) =>
        `${indent}${INDENT}↳ ${id}${subagent === null ? '' : ` ${visibleLine(subagent)}`}  ${style.dim(withOwnCommand(`squad conversation print ${shellWord(id)}`))}`,
    );
  }

  private result(
    { name, output, isError }: ShownPart & { type: 'tool_result' },
    indent: string,
    max: number,
  ): string[] {
    const { style, isFull } = this.options;
    const head = `${indent}← ${visibleLine(name)}${isError ? `  ${style.red('failed')}` : ''}`;
    const lines = this.block(valueText(output), indent);
    if (isFull) return [head, ...lines];
    const width = Math.min(this.options.columns, MAX_LINE_COLUMNS);
    const short = lines.slice(0, max).map(line => truncate(line, width));
    const more = lines.length - short.length;
    const isCut = short.some((line, at) => line !== lines[at]);
    if (more === 0 && !isCut) return [head, ...short];
    const hint = `${indent}${INDENT}… ${more > 0 ? `${more} more lines` : 'cut'}: --tools full`;
    return [head, ...short, style.dim(hint)];
  }

  private text(text: string): string[] {
    const plain = visibleText(withoutColours(text)).trim();
    return wrap(plain, this.options.columns - INDENT.length).map(line => `${INDENT}${line}`.trimEnd());
  }

  private block(text: string, indent: string): string[] {
    const plain = visibleText(withoutColours(text)).trimEnd();
    return plain === '' ? [] : plain.split('\n').map(line => `${indent}${INDENT}${line}`);
  }
}

const keyOfCall = (message: StoredMessage, part: TracePart): string[] =>
  part.type === 'tool_call' ? [callKey(message, part.id)] : [];

const programOf = (part: TracePart): string => ('within' in part && part.within) || '';

/** `squad conversation print RUN`: prints a conversation. */
export async function printConversation(
  run: string,
  { tools }: { tools: 'short' | 'full' },
  context: CliContext,
): Promise<number> {
  using client = await HubClient.start({ workspace: context.workspace });
  const conversation = await wholeConversation(client, run);
  const { out, style } = context;
  const { label, title, status, messages, nested, note } = conversation;
  const head = [
    `${style.bold(visibleLine(label))}  ${statusText(status)}  ${style.dim(`${messages.length} messages`)}`,
    visibleLine(title),
    '',
  ];
  const lines = new ConversationLines(messages, nested, {
    columns: out.columns,
    style,
    isFull: tools === 'full',
  });
  return printResult(context, conversation, () => [
    ...head,
    ...(note === null ? [] : wrap(note, out.columns)),
    ...messages.flatMap(message => lines.of(message)),
  ]);
}
