import {
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as plainRequest,
} from 'node:http';
import { request as secureRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { isRefusedHost } from '../../base/network.ts';
import { UpstreamFault } from './link.ts';

/** Nobody was reached, so nobody was asked. */
export class UnreachableFault extends UpstreamFault {
  constructor(message: string, cause?: unknown) {
    super('transport', message, { cause });
  }
}

/** An answer of HTTP and not of the server behind it. */
export class StatusFault extends UpstreamFault {
  readonly status: number;

  constructor(status: number, headers: IncomingHttpHeaders, now = Date.now()) {
    const retryAfterMs = retryAfter(headers['retry-after'], now);
    super(
      status === 401 || status === 403 ? 'unauthorized' : 'transport',
      status === 401 || status === 403
        ? `The server refused access (HTTP ${status}).`
        : `The server answered with HTTP ${status}.`,
      retryAfterMs === null ? {} : { retryAfterMs },
    );
    this.status = status;
  }

  /** It may well be different in a moment: nothing is learnt from it about what the server speaks. */
  get isPassing(): boolean {
    return [408, 425, 429, 502, 503, 504].includes(this.status);
  }
}

/** Seconds, or a date. */
function retryAfter(value: string | undefined, now: number): number | null {
  if (value === undefined) return null;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

const TLS_CODE = /CERT|UNABLE_TO|ERR_TLS|ERR_SSL|EPROTO/;

/** Error for a connection that cannot be made or breaks, without the address, which may contain secrets. */
export function networkFault(error: unknown, host: string): UpstreamFault {
  if (error instanceof UpstreamFault) return error;
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  const isConnecting = syscall === 'connect' || syscall === 'getaddrinfo';
  if (code === 'EREFUSEDADDRESS') return new UnreachableFault(message, error);
  if (isConnecting || TLS_CODE.test(String(code)) || error instanceof AggregateError)
    return new UnreachableFault(`${host} cannot be reached (${code}).`, error);
  return new UpstreamFault('transport', `The connection to ${host} broke (${code ?? message}).`, {
    cause: error,
  });
}

const INTERNAL_ERROR = -32603;

/** More than anything should have, from a server that is out of hand. */
export const tooLarge = (maxBytes: number): UpstreamFault =>
  new UpstreamFault('transport', `The server sent a message of more than ${maxBytes} bytes.`);

/** Error for one answer that is too large. The connection stays open, because other callers may share it. */
export function answerTooLarge(maxBytes: number): UpstreamFault {
  const message = `The answer is too large: it has more than ${maxBytes} bytes. Ask for less at a time.`;
  return new UpstreamFault('answer', message, { error: { code: INTERNAL_ERROR, message } });
}

export interface Exchange {
  url: URL;
  method: 'GET' | 'POST' | 'DELETE';
  headers: Record<string, string>;
  body?: string;
  agent: Agent;
  lookup: LookupFunction;
  signal: AbortSignal;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  /** As it was before it was compressed. */
  body: Readable;
}

const MAX_REDIRECTS = 3;

/** One request over HTTP. A redirect is followed only within the same origin, and only where the request stays the same. */
export async function exchange(asked: Exchange, redirectsLeft = MAX_REDIRECTS): Promise<Answer> {
  const message = await send(asked);
  const { statusCode: status = 0, headers } = message;
  if (status < 300 || status > 399 || status === 304) return { status, headers, body: decoded(message) };
  message.destroy();
  const target = redirected(asked.url, headers.location);
  const keepsMethod = status === 307 || status === 308 || asked.method === 'GET';
  if (redirectsLeft > 0 && keepsMethod && target?.origin === asked.url.origin)
    return exchange({ ...asked, url: target }, redirectsLeft - 1);
  const where = target ? target.origin : 'nowhere';
  throw new UpstreamFault(
    'transport',
    `${asked.url.host} redirects to ${where} (HTTP ${status}), which is not followed.`,
  );
}

function send({ url, body, lookup, agent, method, headers, signal }: Exchange): Promise<IncomingMessage> {
  if (isRefusedHost(url.hostname))
    throw new UnreachableFault(`${url.hostname} is an address that is never connected to.`);
  const request = url.protocol === 'https:' ? secureRequest : plainRequest;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent, lookup });
    // Not by the option of that name: its error would surface on a connection nobody looks at any more.
    const leave = () => sent.destroy();
    signal.addEventListener('abort', leave, { once: true });
    sent.once('close', () => signal.removeEventListener('abort', leave));
    if (signal.aborted) leave();
    sent.once('response', message => {
      // Whoever reads it sees the error; it may come when nobody reads any more.
      message.on('error', () => {});
      resolve(message);
    });
    sent.on('error', error => reject(networkFault(error, url.host)));
    sent.end(body);
  });
}

function redirected(from: URL, location: string | undefined): URL | null {
  return location !== undefined && URL.canParse(location, from.href) ? new URL(location, from) : null;
}

const DECODERS: Record<string, () => ReturnType<typeof createGunzip>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** We ask for none, but some compress all the same. Bounds are kept by whoever reads it. */
function decoded(message: IncomingMessage): Readable {
  const encoding = message.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return message;
  const decoder = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding]?.() : undefined;
  if (!decoder) {
    message.destroy();
    throw new UpstreamFault('transport', 'The server answered in an encoding nobody asked for.');
  }
  return pipeline(message, decoder, () => {});
}

/** The whole body as text; one over the limit is not read to its end. */
export async function readText(body: Readable, maxBytes: number, excess = tooLarge): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of body as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > maxBytes) throw excess(maxBytes);
      parts.push(part);
    }
  } catch (error) {
    if (error instanceof UpstreamFault) throw error;
    throw new UpstreamFault('transport', 'The answer broke off.', { cause: error });
  }
  return Buffer.concat(parts).toString();
}
