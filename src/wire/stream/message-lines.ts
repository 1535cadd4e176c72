import { isUtf8 } from 'node:buffer';
import type { Writable } from 'node:stream';
import { type JSONRPCMessage, parseJSONRPCMessage, type RequestId } from '@modelcontextprotocol/server';
import { tryParseJson } from '../../base/json.ts';
import type { LineEdges } from '../../base/lines.ts';

const ID = String.raw`"id"\s*:\s*(-?\d{1,15}|"(?:[^"\\]|\\.){0,200}")`;
const PLAIN_FIELD = String.raw`"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"`;
const ID_AT_HEAD = new RegExp(String.raw`^\s*\{\s*(?:${PLAIN_FIELD}\s*,\s*)*${ID}\s*,`);
const ID_AT_TAIL = new RegExp(String.raw`[,{]\s*${ID}\s*(?:,\s*${PLAIN_FIELD}\s*)*\}\s*$`);
const ANSWER_AT_HEAD = new RegExp(
  String.raw`^\s*\{\s*(?:(?:"jsonrpc"\s*:\s*"[^"\\]*"|${ID})\s*,\s*)*"(?:result|error)"\s*:`,
);

/** A complete line, or the beginning and end of a line that was too long to keep. */
export type Line = { bytes: Buffer } | { tooLong: LineEdges };

/**
 * The id of a message of which only the beginning and end were kept. An id inside `params` must not be used, because
 * the answer would go to another request: only plain fields may stand between the id and the outer braces of the
 * message.
 */
function topLevelId({ head, tail }: LineEdges): string | number | null {
  const found =
    ID_AT_HEAD.exec(head.toString('latin1'))?.[1] ?? ID_AT_TAIL.exec(tail.toString('latin1'))?.[1];
  const id = found === undefined ? null : tryParseJson(Buffer.from(found, 'latin1').toString());
  return (id as string | number | undefined) ?? null;
}

/**
 * Id of the request that this message answers. Null if the message is no answer: ids of requests are chosen by the
 * other side.
 */
export const answeredId = (edges: LineEdges): string | number | null =>
  ANSWER_AT_HEAD.test(edges.head.toString('latin1')) ? topLevelId(edges) : null;

/** A JSON-RPC error that answers a line. */
export interface Refusal {
  jsonrpc: '2.0';
  id: RequestId | null;
  error: { code: number; message: string; data?: unknown };
}

type Refused = { refusal: Refusal };

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;

/** Returns the JSON of one line, the refusal to send back, or null for a blank line. */
export function readLine(line: Line, maxBytes: number): { value: unknown } | Refused | null {
  if ('tooLong' in line) {
    return { refusal: tooLarge(topLevelId(line.tooLong), maxBytes) };
  }
  if (!isUtf8(line.bytes)) return refused(PARSE_ERROR, 'Parse error: the line is not UTF-8 text');
  const text = line.bytes.toString();
  try {
    return { value: JSON.parse(text) };
  } catch {
    return text.trim() === '' ? null : refused(PARSE_ERROR, 'Parse error: the line is not JSON');
  }
}

/** Returns the value as a message, or the refusal to send back. */
export function readMessage(value: unknown): { message: JSONRPCMessage } | Refused {
  if (Array.isArray(value)) return refused(INVALID_REQUEST, 'Invalid request: batches are not supported');
  try {
    return { message: parseJSONRPCMessage(value) };
  } catch {
    return refused(INVALID_REQUEST, 'Invalid request: not a JSON-RPC 2.0 message', idOf(value));
  }
}

function refused(code: number, message: string, id: RequestId | null = null): Refused {
  return { refusal: { jsonrpc: '2.0', id, error: { code, message } } };
}

function tooLarge(id: RequestId | null, limitBytes: number): Refusal {
  const message = `Invalid request: the message is over the limit of ${limitBytes} bytes`;
  return {
    jsonrpc: '2.0',
    id,
    error: { code: INVALID_REQUEST, message, data: { code: 'MESSAGE_TOO_LARGE', limitBytes } },
  };
}

function idOf(value: unknown): RequestId | null {
  const id = (value as { id?: unknown } | null)?.id;
  return typeof id === 'string' || Number.isInteger(id) ? (id as RequestId) : null;
}

/**
 * Sends all writes of one turn of the event loop together, because a system call costs more than formatting a message.
 */
export function gatherWrites(output: Writable): void {
  if (output.writableCorked > 0) return;
  output.cork();
  setImmediate(() => output.uncork());
}

const FLUSH_MS = 1000;

/** Writes one message per line, and reports when the reader has fallen too far behind. */
export class LineWriter {
  readonly #output: Writable;
  readonly #waiting = new Set<() => void>();
  #ended = false;

  constructor(output: Writable) {
    this.#output = output;
    output.on('drain', () => this.#wake());
  }

  get unreadBytes(): number {
    return this.#output.writableLength;
  }

  get canWrite(): boolean {
    return !this.#ended && this.#output.writable;
  }

  /** Resolves when there is room for the next message; rejects when the reader is gone. */
  write(message: unknown): Promise<void> {
    return this.writeParts([JSON.stringify(message)]);
  }

  /** Like `write`, for a message that is JSON already. */
  writeParts(parts: readonly (string | Buffer)[]): Promise<void> {
    if (!this.canWrite) {
      return Promise.reject(Object.assign(new Error('The client is gone'), { code: 'CLIENT_GONE' }));
    }
    gatherWrites(this.#output);
    let hasRoom = true;
    parts.forEach((part, at) => {
      const end = at === parts.length - 1 ? '\n' : '';
      hasRoom = this.#output.write(typeof part === 'string' ? oneLine(part) + end : bytesOnOneLine(part));
    });
    if (hasRoom) return Promise.resolve();
    return new Promise(resolve => this.#waiting.add(resolve));
  }

  /** Resolves when everything written was passed to the stream, or the reader does not accept it. */
  end(): Promise<void> {
    this.#ended = true;
    this.#wake();
    return new Promise(resolve => {
      const finish = () => {
        clearTimeout(timer);
        this.#output.destroy();
        resolve();
      };
      // Without the timeout, a reader that has stopped reading would block forever.
      const timer = setTimeout(finish, FLUSH_MS).unref();
      if (this.#output.destroyed) finish();
      else this.#output.end(finish);
    });
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** Formats a message as one line. */
export const asLine = (message: unknown): string => `${oneLine(JSON.stringify(message))}\n`;

/**
 * Some readers split lines by Unicode's rules (Node's readline does) and would split at these two characters inside a
 * string.
 */
const oneLine = (json: string): string =>
  json.replace(/[\u2028\u2029]/g, separator => (separator === '\u2028' ? '\\u2028' : '\\u2029'));

const SEPARATORS = ['\u2028', '\u2029'].map(separator => Buffer.from(separator));

const bytesOnOneLine = (json: Buffer): Buffer =>
  SEPARATORS.some(separator => json.includes(separator)) ? Buffer.from(oneLine(json.toString())) : json;
