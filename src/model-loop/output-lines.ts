import { formatBytes } from '../base/text.ts';
import type { Redactor } from '../redaction/redactor.ts';
import { type AgentLine, MAX_AGENT_LINE_LENGTH } from '../schema/agent-protocol.ts';
import type { TracePart } from '../schema/conversation.ts';

/** Stands where something of a conversation was not kept, whatever the reason. */
const cutMark = (kept: number, all: number): string => `[${kept} of ${all} bytes kept]`;

/** For what stands around the parts of a message. */
const FRAME = 1024;
const SHORT = 64 * 1024;
const STEP = 16 * 1024;

const isTooLong = (line: string): boolean => Buffer.byteLength(line) > MAX_AGENT_LINE_LENGTH;

/** What does not fit into a line is cut where it is longest, with a word on how much of it there was. */
function shortened(body: LineBody): LineBody {
  if (body.type === 'end') {
    // Whole or not at all: a part of an answer would be taken for all of it.
    const error = tooLong(Buffer.byteLength(JSON.stringify(body)));
    return { type: 'end', ok: false, answer: '', error, code: 'OUTPUT_LIMIT' };
  }
  if (body.type !== 'message') return withShortTexts(body);
  const { message } = body;
  const sizes = message.content.map(part => Buffer.byteLength(JSON.stringify(part)) + 1);
  const most = shareOf(sizes, MAX_AGENT_LINE_LENGTH - FRAME);
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
  `The answer is not passed on: it takes ${formatBytes(bytes)} as JSON, and the limit is ${formatBytes(MAX_AGENT_LINE_LENGTH)}. Ask for less at once, or let it write the result to a file with a tool and answer with its name.`;

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

/** Of what one call in a program was given, and of what it gave back: a program can move megabytes with each. */
export const MAX_KEPT_LENGTH = 16_000;

/** What is kept of a piece that a program called or got. */
function truncatePart(part: TracePart): TracePart {
  if (part.type === 'tool_call') return { ...part, input: keptValue(part.input) };
  if (part.type === 'tool_result') return { ...part, output: keptValue(part.output) };
  return part;
}

function keptValue(value: unknown): unknown {
  const words = typeof value === 'string' ? value : JSON.stringify(value);
  if (words.length <= MAX_KEPT_LENGTH) return value;
  const kept = words.slice(0, MAX_KEPT_LENGTH).toWellFormed();
  return `${kept}\n${cutMark(Buffer.byteLength(kept), Buffer.byteLength(words))}`;
}

type WithoutTime<Line> = Line extends { at: number } ? Omit<Line, 'at'> : never;
export type LineBody = WithoutTime<AgentLine>;

/** Says one event. Nothing else is ever on standard output, and no line is longer than whoever reads it takes. */
export type Say = (body: LineBody) => void;

export interface OutputWriter {
  /** Returns what was told in the end: without secrets, and short enough. */
  say(body: LineBody): LineBody;
  /** From here on no line has these in it, whoever said them. */
  hide(secrets: Redactor): void;
}

/** Of a call and of what came back, here: all of it is in the messages. */
const MAX_DETAIL_LENGTH = 200;

export function createOutputWriter(output: { write(text: string): unknown }): OutputWriter {
  let secrets: Redactor | null = null;
  return {
    say(body) {
      const at = Date.now();
      const clean = short(secrets ? without(secrets, body) : body);
      const line = JSON.stringify({ at, ...clean });
      const told = isTooLong(line) ? shortened(clean) : clean;
      output.write(`${told === clean ? line : JSON.stringify({ at, ...told })}\n`);
      return told;
    },
    hide(redactor) {
      secrets = redactor;
    },
  };
}

/** Figures, and what kind of line it is, stay as they are. */
function without({ text, deep }: Redactor, body: LineBody): LineBody {
  switch (body.type) {
    case 'text':
    case 'note':
      return { ...body, text: text(body.text) };
    case 'tool':
    case 'tool_end':
      return { ...body, name: text(body.name), detail: text(body.detail) };
    case 'message':
      return { ...body, message: { ...body.message, content: deep(body.message.content) } };
    case 'end':
      return {
        ...body,
        answer: text(body.answer),
        ...('structured' in body && { structured: deep(body.structured) }),
        error: body.error === null ? null : text(body.error),
      };
    default:
      return body;
  }
}

/** Cut when nothing is in it any more that a cut could part. */
function short(body: LineBody): LineBody {
  if (body.type === 'message' && body.message.role === 'program')
    return { ...body, message: { ...body.message, content: body.message.content.map(truncatePart) } };
  if (body.type !== 'tool' && body.type !== 'tool_end') return body;
  const { detail } = body;
  if (detail.length <= MAX_DETAIL_LENGTH) return body;
  return { ...body, detail: `${detail.slice(0, MAX_DETAIL_LENGTH).toWellFormed()}…` };
}

const MIB = 1024 * 1024;

/** What a model may say in one turn, thoughts and arguments of calls included: several times what the longest of today say. */
export const MAX_TEXT_BYTES = 4 * MIB;
/** What an answer of a provider may take in all, and in how many events: they come for each word or two. */
export const MAX_ANSWERED = 64 * MIB;
export const MAX_EVENTS = 250_000;
/** One event. The largest are those at the end, in which some providers say everything once more. */
export const MAX_EVENT_LENGTH = 8 * MIB;
/** What is read of an answer that is none: it is only quoted. */
export const MAX_REFUSED = 64 * 1024;
