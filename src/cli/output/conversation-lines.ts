import type { ShownPart } from '../../operations/shown-message.ts';
import { type NestedRun, runsByCall } from '../../schema/nested-runs.ts';
import { toldValue } from '../../schema/told-value.ts';
import type { StoredMessage } from '../../schema/trace.ts';
import { visibleLine, visibleText } from '../../schema/visible-text.ts';
import { withoutAnsi } from '../../schema/without-ansi.ts';
import { formatDateTime } from './duration.ts';
import { formatSize } from './size.ts';
import type { Style } from './style.ts';
import { truncate } from './width.ts';
import { wrap } from './wrap.ts';

export interface ConversationLook {
  columns: number;
  style: Style;
  /** Tools with all they were given and gave back. */
  isFull: boolean;
}

/** Of what a tool gave back. */
const SHORT_LINES = 6;
const SHORT_LINE = 400;
const INDENT = '  ';

/** Messages of one conversation, for a terminal: who spoke, what they said below it, what tools were called with and gave back. */
export class ConversationLines {
  private readonly look: ConversationLook;
  private readonly runs: ReadonlyMap<string, readonly NestedRun[]>;
  private before: string | null = null;

  /** With all that was said, because what a call started is known by when it ended. */
  constructor(messages: readonly StoredMessage[], nested: readonly NestedRun[], look: ConversationLook) {
    this.look = look;
    this.runs = runsByCall(messages, nested);
  }

  /** Of the next message. */
  of(message: StoredMessage): string[] {
    const { style } = this.look;
    const hasGap = this.before !== null && message.parentId !== this.before;
    this.before = message.id;
    return [
      ...(hasGap ? [style.yellow('A message is missing here.'), ''] : []),
      `${style.bold(message.role)}  ${style.dim(formatDateTime(message.at))}`,
      ...message.content.flatMap(part => this.part(part)),
      '',
    ];
  }

  private part(part: ShownPart): string[] {
    const { style } = this.look;
    switch (part.type) {
      case 'text':
        return this.words(part.text);
      case 'reasoning':
        return [style.dim(`${INDENT}thinks`), ...this.words(part.text).map(line => style.dim(line))];
      case 'file':
        return [`${INDENT}${visibleLine(part.name)}  ${part.mediaType}  ${formatSize(part.bytes)}`];
      case 'tool_call':
        return [...this.call(part), ...this.started(part.id)];
      case 'tool_result':
        return this.result(part);
    }
  }

  private call({ name, input }: ShownPart & { type: 'tool_call' }): string[] {
    const { style, columns, isFull } = this.look;
    const head = `${INDENT}→ ${style.bold(visibleLine(name))}`;
    if (isFull) return [head, ...this.block(toldValue(input))];
    const args = visibleLine(withoutAnsi(typeof input === 'string' ? input : JSON.stringify(input)));
    return [truncate(`${head} ${args}`, columns)];
  }

  private started(callId: string): string[] {
    const { style } = this.look;
    return (this.runs.get(callId) ?? []).map(
      ({ id, subagent }) =>
        `${INDENT}${INDENT}↳ ${id}${subagent === null ? '' : ` ${visibleLine(subagent)}`}  ${style.dim(`squad conversation print ${id}`)}`,
    );
  }

  private result({ name, output, isError }: ShownPart & { type: 'tool_result' }): string[] {
    const { style, isFull } = this.look;
    const head = `${INDENT}← ${visibleLine(name)}${isError ? `  ${style.red('failed')}` : ''}`;
    const lines = this.block(toldValue(output));
    if (isFull) return [head, ...lines];
    const width = Math.min(this.look.columns, SHORT_LINE);
    const short = lines.slice(0, SHORT_LINES).map(line => truncate(line, width));
    const more = lines.length - short.length;
    const isCut = short.some((line, at) => line !== lines[at]);
    if (more === 0 && !isCut) return [head, ...short];
    const hint = `${INDENT}${INDENT}… ${more > 0 ? `${more} more lines` : 'cut'}: --tools full`;
    return [head, ...short, style.dim(hint)];
  }

  private words(text: string): string[] {
    const plain = visibleText(withoutAnsi(text)).trim();
    return wrap(plain, this.look.columns - INDENT.length).map(line => `${INDENT}${line}`.trimEnd());
  }

  private block(text: string): string[] {
    const plain = visibleText(withoutAnsi(text)).trimEnd();
    return plain === '' ? [] : plain.split('\n').map(line => `${INDENT}${INDENT}${line}`);
  }
}
