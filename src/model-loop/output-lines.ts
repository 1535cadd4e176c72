import { formatBytes } from '../base/text.ts';
import type { Redactor } from '../redaction/redactor.ts';
import { type AgentLine, MAX_AGENT_LINE_LENGTH } from '../schema/agent-protocol.ts';
import type { TracePart } from '../schema/conversation.ts';

/** Text that is inserted where text was cut. */
const cutMark = (kept: number, all: number): string => `[${kept} of ${all} bytes kept]`;

/** Bytes reserved for the JSON around the parts of a message. */
const FRAME = 1024;
const SHORT = 64 * 1024;
const STEP = 16 * 1024;

const isTooLong = (line: string): boolean => Buffer.byteLength(line) > MAX_AGENT_LINE_LENGTH;

/** Cuts the longest parts until the line fits, and notes how much was cut. */
function shortened(body: LineBody): LineBody {
  if (body.type === 'end') {
    // An answer is never cut: a part of it would be mistaken for the whole.
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
  // The line is too long even without its texts, so it contains only names and ids of extreme length. They are
  // dropped, because half a name has no meaning.
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  const text = cutMark(0, bytes);
  return { type: 'message', message: { ...message, content: [{ type: 'text', text }] } };
}

const tooLong = (bytes: number): string =>
  `The answer is too long: it takes ${formatBytes(bytes)} as JSON, and the limit is ${formatBytes(MAX_AGENT_LINE_LENGTH)}. Ask for less at once, or let the model write the result to a file with a tool and answer with the file's name.`;

/**
 * Size limit for each part, so that all parts fit into `room`. Space that short parts do not need goes to the longer
 * ones.
 */
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

/** As much of the beginning as fits into `most` bytes of JSON, including the cut mark. */
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

/**
 * Maximum number of recorded characters per input and output of a program's call. A program can move megabytes with
 * each call.
 */
export const MAX_KEPT_LENGTH = 16_000;

function truncatePart(part: TracePart): TracePart {
  if (part.type === 'tool_call') return { ...part, input: keptValue(part.input) };
  if (part.type === 'tool_result') return { ...part, output: keptValue(part.output) };
  return part;
}

function keptValue(value: unknown): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text.length <= MAX_KEPT_LENGTH) return value;
  const kept = text.slice(0, MAX_KEPT_LENGTH).toWellFormed();
  return `${kept}\n${cutMark(Buffer.byteLength(kept), Buffer.byteLength(text))}`;
}

type WithoutTime<Line> = Line extends { at: number } ? Omit<Line, 'at'> : never;
export type LineBody = WithoutTime<AgentLine>;

/** Writes one event as a line. Standard output contains nothing else, and no line longer than MAX_AGENT_LINE_LENGTH. */
export type Emit = (body: LineBody) => void;

export interface OutputWriter {
  /** Writes a line. Returns its body as written: without secrets and shortened. */
  emit(body: LineBody): LineBody;
  /** Redacts these secrets in all lines from now on. */
  hideSecrets(secrets: Redactor): void;
}

/** Limit for `tool` and `tool_end` lines; `message` lines have the whole text. */
const MAX_DETAIL_LENGTH = 200;

export function createOutputWriter(output: { write(text: string): unknown }): OutputWriter {
  let secrets: Redactor | null = null;
  return {
    emit(body) {
      const at = Date.now();
      const clean = short(secrets ? without(secrets, body) : body);
      const line = JSON.stringify({ at, ...clean });
      const written = isTooLong(line) ? shortened(clean) : clean;
      output.write(`${written === clean ? line : JSON.stringify({ at, ...written })}\n`);
      return written;
    },
    hideSecrets(redactor) {
      secrets = redactor;
    },
  };
}

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

/** Shortens a line after redaction, because a cut could split a secret, and its parts would not be recognised. */
function short(body: LineBody): LineBody {
  if (body.type === 'message' && body.message.role === 'program')
    return { ...body, message: { ...body.message, content: body.message.content.map(truncatePart) } };
  if (body.type !== 'tool' && body.type !== 'tool_end') return body;
  const { detail } = body;
  if (detail.length <= MAX_DETAIL_LENGTH) return body;
  return { ...body, detail: `${detail.slice(0, MAX_DETAIL_LENGTH).toWellFormed()}…` };
}

const MIB = 1024 * 1024;

/**
 * Limit for the model output of one turn, including reasoning and tool arguments: several times the most that today's
 * models produce.
 */
export const MAX_TEXT_BYTES = 4 * MIB;
/** Limit for the bytes of one provider response. Providers send an event for every word or two. */
export const MAX_RESPONSE_BYTES = 64 * MIB;
export const MAX_EVENTS = 250_000;
/** Limit for the bytes of one event. The largest are final events, in which some providers repeat the whole answer. */
export const MAX_EVENT_LENGTH = 8 * MIB;
/** Limit for the bytes that are read of an error response; only a part of them is quoted. */
export const MAX_ERROR_BODY_BYTES = 64 * 1024;
