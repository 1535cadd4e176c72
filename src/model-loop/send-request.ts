import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';

export interface Outgoing {
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array | null;
  signal: AbortSignal | null;
}

/**
 * One request on a connection of its own, with no limit on how long an answer may take: a model may think, and a tool may
 * work, for an hour. A connection that is kept could be closed at the other end just as it is used again, and nothing is
 * asked twice here.
 */
export function sendRequest(url: URL, { method, headers, body, signal }: Outgoing): Promise<IncomingMessage> {
  const isSecure = url.protocol === 'https:';
  const options = { method, headers, agent: agentFor(isSecure), ...(signal && { signal }) };
  return new Promise((resolve, reject) => {
    const request = isSecure ? secureRequest(url, options, resolve) : plainRequest(url, options, resolve);
    request.on('error', error => reject(signal?.aborted ? signal.reason : error));
    request.end(body ?? undefined);
  });
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
