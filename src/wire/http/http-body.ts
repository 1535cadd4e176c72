import type { IncomingMessage, ServerResponse } from 'node:http';
import { isJsonContentType } from '@modelcontextprotocol/server';

/** A JSON-RPC error as a complete HTTP response. */
export interface Refused {
  status: number;
  code: number;
  message: string;
  id?: unknown;
  headers?: Record<string, string>;
}

export function refusal(status: number, code: number, message: string, id?: unknown): Response {
  return new Response(errorText({ status, code, message, id }), {
    status,
    headers: { 'content-type': 'application/json' },
  });
}

export function refuse(res: ServerResponse, refused: Refused): void {
  res.writeHead(refused.status, { 'content-type': 'application/json', ...refused.headers });
  res.end(errorText(refused));
}

function errorText({ code, message, id }: Refused): string {
  const echoed = typeof id === 'string' || typeof id === 'number' ? id : null;
  return JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: echoed });
}

/** Returns the JSON of the body, the refusal to send, or null when the client left before the body was complete. */
export async function readBody(
  req: IncomingMessage,
  maxBytes: number,
): Promise<{ body: unknown } | { refused: Refused } | null> {
  if (!isJsonContentType(req.headers['content-type'])) return { refused: NOT_JSON };
  const bytes = await readBytes(req, maxBytes);
  if (bytes === null) return null;
  if (bytes === 'too many') return { refused: tooLarge(maxBytes) };
  try {
    return { body: JSON.parse(withoutMark(bytes.toString())) };
  } catch {
    const message = 'Parse error: the request body is not JSON';
    return { refused: { status: 400, code: -32700, message } };
  }
}

// Closes the connection: unread bytes of the body would be parsed as the next request.
const UNREAD = { connection: 'close' };

const NOT_JSON: Refused = {
  status: 415,
  code: -32000,
  message: 'Unsupported Media Type: Content-Type must be application/json',
  headers: UNREAD,
};

const tooLarge = (maxBytes: number): Refused => ({
  status: 413,
  code: -32000,
  message: `Payload Too Large: Request body must not exceed ${maxBytes} bytes`,
  headers: UNREAD,
});

function readBytes(req: IncomingMessage, maxBytes: number): Promise<Buffer | 'too many' | null> {
  if (Number(req.headers['content-length']) > maxBytes) return Promise.resolve('too many');
  // A destroyed request emits no further events.
  if (req.destroyed) return Promise.resolve(null);
  return new Promise(settle => {
    const chunks: Buffer[] = [];
    let size = 0;
    const take = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) return void chunks.push(chunk);
      req.off('data', take);
      settle('too many');
    };
    req.on('data', take);
    req.once('end', () => settle(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    req.on('error', () => settle(null));
    req.once('close', () => settle(null));
  });
}

/** Some tools begin every text with a byte order mark. */
const withoutMark = (text: string) => (text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);

/** Whether a client waits for the answer. No client waits for that of a listening stream. */
export function awaitsAnswer(body: unknown): boolean {
  return Array.isArray(body) ? body.some(isAwaited) : isAwaited(body);
}

function isAwaited(message: unknown): boolean {
  if (message === null || typeof message !== 'object') return false;
  return 'id' in message && 'method' in message && message.method !== 'subscriptions/listen';
}
