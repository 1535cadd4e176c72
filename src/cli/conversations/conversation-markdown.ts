import { longestStreak } from '../../base/longest-streak.ts';
import { visibleLine, visibleText } from '../../base/visible-text.ts';
import { withoutColours } from '../../base/without-colours.ts';
import type { StoredMessage, TracePart } from '../../schema/conversation.ts';
import { moreCalls } from '../../schema/more-calls.ts';
import { toldValue } from '../../schema/told-value.ts';

/** One message as Markdown. What anybody said is in fences: none of it can become a heading or a link of the document. */
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
      return `Calls ${called(part)}:\n\n${fenced(toldValue(part.input))}`;
    case 'tool_result':
      return `${called(part)} ${part.isError ? 'failed' : 'answers'}:\n\n${fenced(toldValue(part.output))}`;
    case 'more_calls':
      return `Not kept: ${moreCalls(part)}.`;
  }
}

/** Of a program there are many at once, so each is known by its number as well. */
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

const longestTicks = (text: string): number => longestStreak(text, /`+/g);
