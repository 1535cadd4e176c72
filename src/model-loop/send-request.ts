import {
  type ClientRequest,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
} from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { Readable } from 'node:stream';

/** A body that is made while it is sent. */
export interface Pieces {
  bytes: number;
  pieces(): AsyncIterable<string>;
}

export interface Outgoing {
  method: string;
  headers: Record<string, string>;
  body: string | Pieces | null;
  signal: AbortSignal | null;
}

/**
 * One request on a connection of its own, with no limit on how long an answer may take: a model may think, and a tool may
 * work, for an hour. A connection that is kept could be closed at the other end just as it is used again, and nothing is
 * asked twice here.
 */
export function sendRequest(url: URL, { method, headers, body, signal }: Outgoing): Promise<IncomingMessage> {
  const isSecure = url.protocol === 'https:';
  const isMade = typeof body === 'object' && body !== null;
  const options = {
    ...{ method, agent: agentFor(isSecure), ...(signal && { signal }) },
    // Not every server takes a body of unknown length.
    headers: isMade ? { ...headers, 'content-length': String(body.bytes) } : headers,
  };
  return new Promise((resolve, reject) => {
    const request = isSecure ? secureRequest(url, options, resolve) : plainRequest(url, options, resolve);
    request.on('error', error => reject(signal?.aborted ? signal.reason : error));
    if (isMade) sendPieces(request, body);
    else request.end(body ?? undefined);
  });
}

function sendPieces(request: ClientRequest, body: Pieces): void {
  const pieces = Readable.from(body.pieces());
  pieces.on('error', error => request.destroy(error));
  request.on('close', () => pieces.destroy());
  pieces.pipe(request);
}

/** A proxy is used where Node itself would use one. */
function agentFor(isSecure: boolean): PlainAgent {
  const proxy = process.env.NODE_USE_ENV_PROXY === '1' ? { proxyEnv: process.env } : {};
  return isSecure
    ? new SecureAgent({ keepAlive: false, ...proxy })
    : new PlainAgent({ keepAlive: false, ...proxy });
}

export async function wholeText(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
