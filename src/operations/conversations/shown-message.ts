import { z } from 'zod';
import { StoredMessage, TracePart } from '../../schema/conversation.ts';
import { toldValue } from '../../schema/told-value.ts';

/** Enough of a piece to see what it is about. */
const LONGEST = 4_000;

/** A message for a list: of a long piece its beginning, of a long value the beginning of its text. */
export const ShownMessage = StoredMessage.extend({
  content: z.array(TracePart.and(z.object({ left: z.number().optional() }))),
});
export type ShownMessage = z.infer<typeof ShownMessage>;
export type ShownPart = ShownMessage['content'][number];

export const shownMessage = (message: StoredMessage): ShownMessage => ({
  ...message,
  content: message.content.map(shortened),
});

function shortened(part: TracePart): ShownPart {
  if (part.type === 'file' || part.type === 'more_calls') return part;
  if (part.type === 'text' || part.type === 'reasoning') {
    const { text, left } = begun(part.text);
    return left === 0 ? part : { ...part, text, left };
  }
  const { text, left } = begun(toldValue(part.type === 'tool_call' ? part.input : part.output));
  if (left === 0) return part;
  return part.type === 'tool_call' ? { ...part, input: text, left } : { ...part, output: text, left };
}

function begun(text: string): { text: string; left: number } {
  if (text.length <= LONGEST) return { text, left: 0 };
  const kept = text.slice(0, LONGEST).toWellFormed();
  return { text: kept, left: text.length - kept.length };
}
