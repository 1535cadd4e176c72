import type { TracePart } from '../schema/conversation.ts';
import { cutMark } from './cut-mark.ts';

/** Of what one call in a program was given, and of what it gave back: a program can move megabytes with each. */
export const LONGEST_KEPT = 16_000;

/** What is kept of a piece that a program called or got. */
export function keptPart(part: TracePart): TracePart {
  if (part.type === 'tool_call') return { ...part, input: keptValue(part.input) };
  if (part.type === 'tool_result') return { ...part, output: keptValue(part.output) };
  return part;
}

function keptValue(value: unknown): unknown {
  const words = typeof value === 'string' ? value : JSON.stringify(value);
  if (words.length <= LONGEST_KEPT) return value;
  const kept = words.slice(0, LONGEST_KEPT).toWellFormed();
  return `${kept}\n${cutMark(Buffer.byteLength(kept), Buffer.byteLength(words))}`;
}
