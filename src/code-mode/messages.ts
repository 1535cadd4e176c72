import { isObject, tryParseJson } from '../base/json.ts';

/** Messages from the guest, which runs code of a model: the host validates everything. */
export type GuestMessage =
  /** Reply to `prepare`: the guest is ready and has loaded everything that a program may need. */
  | { type: 'prepared' }
  /** Reply to `run`: the guest has the program and starts it now. */
  | { type: 'begun' }
  | { type: 'call'; id: number; tool: string; args: Record<string, unknown> }
  | { type: 'print'; text: string }
  | {
      type: 'done';
      /** Returned value as JSON, cut to the limit. Absent if nothing was returned. */
      returned?: string;
      /** Number of characters that were cut. */
      omitted?: number;
      /** Errors of unhandled promise rejections. */
      rejections: string[];
    }
  | { type: 'failed'; error: string };

export type HostMessage =
  | { type: 'prepare' }
  | { type: 'run'; program: string; tools: string[]; maxChars: number }
  /** Result of a call. `json` is absent if the result is undefined. */
  | { type: 'result'; id: number; json?: string }
  | { type: 'error'; id: number; message: string };

/**
 * Limits for concurrent calls of one program. The guest enforces them too, so a guest that exceeds them is controlled
 * by its program.
 */
export const MAX_CALLS = 64;
export const MAX_CALL_BYTES = 32 * 1024 * 1024;

/** Limit on the values in one message. Parsing a frame full of keys would block the host for seconds. */
export const MAX_VALUES = 100_000;
const MAX_DEPTH = 500;

/** Whether JSON has too many values or nesting levels for a message. The text may be decoded as latin1. */
export function isTooComplex(json: string): boolean {
  let values = 0;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const char = json.charCodeAt(at);
    if (char === QUOTE) at = endOfString(json, at);
    else if (char === COMMA) values++;
    else if (char === OPEN_BRACKET || char === OPEN_BRACE) {
      values++;
      depth++;
    } else if (char === CLOSE_BRACKET || char === CLOSE_BRACE) depth--;
    if (values > MAX_VALUES || depth > MAX_DEPTH) return true;
  }
  return false;
}

const [QUOTE, COMMA, BACKSLASH] = [34, 44, 92];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [91, 93, 123, 125];

function endOfString(json: string, start: number): number {
  let end = start;
  let backslashes: number;
  do {
    end = json.indexOf('"', end + 1);
    if (end < 0) return json.length;
    backslashes = 0;
    while (json.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
  } while (backslashes % 2 === 1);
  return end;
}

/** Returns null for an invalid message. */
export function readGuestMessage(body: Buffer): GuestMessage | null {
  const message = isTooComplex(body.toString('latin1')) ? null : tryParseJson(body.toString('utf8'));
  if (!isObject(message)) return null;
  const { type } = message;
  if (type === 'prepared' || type === 'begun') return { type };
  if (type === 'print' && typeof message.text === 'string') return { type, text: message.text };
  if (type === 'failed' && typeof message.error === 'string') return { type, error: message.error };
  if (type === 'call') return readCall(message);
  return type === 'done' ? readDone(message) : null;
}

function readCall({ id, tool, args }: Record<string, unknown>): GuestMessage | null {
  return isCount(id) && typeof tool === 'string' && isObject(args) ? { type: 'call', id, tool, args } : null;
}

function readDone({ returned, omitted, rejections }: Record<string, unknown>): GuestMessage | null {
  if (returned !== undefined && typeof returned !== 'string') return null;
  if (omitted !== undefined && !isCount(omitted)) return null;
  if (!Array.isArray(rejections) || !rejections.every(each => typeof each === 'string')) return null;
  return { type: 'done', returned, omitted, rejections };
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** A frame is a message between host and guest: four bytes of length, then JSON. */
export const MAX_FRAME_BYTES = 8 * 1024 * 1024;

const HEADER = 4;

export function toFrame(message: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(message), 'utf8');
  const frame = Buffer.allocUnsafe(HEADER + body.length);
  frame.writeUInt32LE(body.length);
  body.copy(frame, HEADER);
  return frame;
}

/** Splits the chunks it is called with into frames. Holds at most one frame in memory. Throws if a frame is too long; nothing can be read after that. */
export function createFrameReader(onFrame: (body: Buffer) => void): (chunk: Buffer) => void {
  let pieces: Buffer[] = [];
  let have = 0;

  function take(length: number): Buffer {
    const all = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
    pieces = all.length > length ? [all.subarray(length)] : [];
    have = all.length - length;
    return all.subarray(0, length);
  }

  let wanted: number | null = null;
  return chunk => {
    pieces.push(chunk);
    have += chunk.length;
    for (;;) {
      if (wanted === null) {
        if (have < HEADER) return;
        wanted = take(HEADER).readUInt32LE();
        if (wanted > MAX_FRAME_BYTES) throw new Error(`A message of ${wanted} bytes is too long`);
      }
      if (have < wanted) return;
      const body = take(wanted);
      wanted = null;
      onFrame(body);
    }
  };
}
