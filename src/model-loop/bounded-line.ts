import { sizeWords } from '../base/size-words.ts';
import { LONGEST_AGENT_LINE } from '../schema/agent-line.ts';
import type { TracePart } from '../schema/conversation.ts';
import { cutMark } from './cut-mark.ts';
import type { LineBody } from './print-line.ts';

/** For what stands around the parts of a message. */
const FRAME = 1024;
const SHORT = 64 * 1024;
const STEP = 16 * 1024;

export const isTooLong = (line: string): boolean => Buffer.byteLength(line) > LONGEST_AGENT_LINE;

/** What does not fit into a line is cut where it is longest, with a word on how much of it there was. */
export function shortened(body: LineBody): LineBody {
  if (body.type === 'end') {
    // Whole or not at all: a part of an answer would be taken for all of it.
    const error = tooLong(Buffer.byteLength(JSON.stringify(body)));
    return { type: 'end', ok: false, answer: '', error, code: 'OUTPUT_LIMIT' };
  }
  if (body.type !== 'message') return withShortTexts(body);
  const { message } = body;
  const sizes = message.content.map(part => Buffer.byteLength(JSON.stringify(part)) + 1);
  const most = shareOf(sizes, LONGEST_AGENT_LINE - FRAME);
  const content = message.content.map((part, at) =>
    sizes[at]! > most ? shortPart(part, most, sizes[at]!) : part,
  );
  const short: LineBody = { type: 'message', message: { ...message, content } };
  if (!isTooLong(JSON.stringify({ at: 0, ...short }))) return short;
  // Names and ids without end: nothing that means anything is lost.
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  const text = cutMark(0, bytes);
  return { type: 'message', message: { ...message, content: [{ type: 'text', text }] } };
}

const tooLong = (bytes: number): string =>
  `The answer is not passed on: it takes ${sizeWords(bytes)} as JSON, and the limit is ${sizeWords(LONGEST_AGENT_LINE)}. Ask for less at once, or let it write the result to a file with a tool and answer with its name.`;

/** The most that each may have if all of them are to fit and those that need less leave the rest to the others. */
function shareOf(sizes: readonly number[], room: number): number {
  let left = room;
  const rising = [...sizes].sort((a, b) => a - b);
  for (const [at, size] of rising.entries()) {
    const share = Math.floor(left / (rising.length - at));
    if (size > share) return share;
    left -= size;
  }
  return room;
}

function shortPart(part: TracePart, most: number, size: number): TracePart {
  if (part.type === 'file' || part.type === 'more_calls') return part;
  const field = part.type === 'tool_call' ? 'input' : part.type === 'tool_result' ? 'output' : 'text';
  const value = (part as Record<string, unknown>)[field];
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  const frame = size - Buffer.byteLength(JSON.stringify(value) ?? '');
  return { ...part, [field]: cut(text, most - frame) } as TracePart;
}

const withShortTexts = (body: LineBody): LineBody =>
  Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      name,
      typeof value === 'string' ? cut(value, SHORT) : value,
    ]),
  ) as LineBody;

/** As much of the beginning as takes no more than that in JSON, together with the word on it. */
function cut(text: string, most: number): string {
  if (inJson(text) <= most) return text;
  const all = Buffer.byteLength(text);
  let room = most - inJson(`\n${cutMark(all, all)}`);
  let end = 0;
  for (let step = STEP; step >= 1; ) {
    const bytes = inJson(text.slice(end, end + step)) - QUOTES;
    if (bytes > room || end + step > text.length) step = Math.floor(step / 2);
    else {
      room -= bytes;
      end += step;
    }
  }
  const kept = text.slice(0, end).toWellFormed();
  return `${kept}\n${cutMark(Buffer.byteLength(kept), all)}`;
}

const QUOTES = 2;
const inJson = (text: string): number => Buffer.byteLength(JSON.stringify(text));
