import { lookup as systemLookup } from 'node:dns';
import {
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
  validateHeaderName,
  validateHeaderValue,
} from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { isRefused, isRefusedHost } from '../../base/network.ts';
import { UpstreamFault } from './link.ts';

/** The server could not be reached, so it did not get the request. */
export class UnreachableFault extends UpstreamFault {
  constructor(message: string, cause?: unknown) {
    super('transport', message, { cause });
  }
}

/** An HTTP error status instead of a JSON-RPC answer. */
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

  /** A temporary error, which shows nothing about the protocol of the server. */
  get isPassing(): boolean {
    return [408, 425, 429, 502, 503, 504].includes(this.status);
  }
}

/** `Retry-After` is a number of seconds or a date. */
function retryAfter(value: string | undefined, now: number): number | null {
  if (value === undefined) return null;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

const TLS_CODE = /CERT|UNABLE_TO|ERR_TLS|ERR_SSL|EPROTO/;

/** An error of the connection, without the URL, which may contain secrets. */
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

/** A message exceeded the limit; the link cannot be used any more. */
export const tooLarge = (maxBytes: number): UpstreamFault =>
  new UpstreamFault('transport', `The server sent a message of more than ${maxBytes} bytes.`);

/** An answer over the limit fails only its own request: the server works, and other runs may share it. */
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
  /** The decompressed body. */
  body: Readable;
}

const MAX_REDIRECTS = 3;

/**
 * Sends one HTTP request. A redirect is followed only within the same origin, and only if method and body stay the
 * same.
 */
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
    throw new UnreachableFault(`${url.hostname} is an address that Squad never connects to.`);
  const request = url.protocol === 'https:' ? secureRequest : plainRequest;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent, lookup });
    // The request is destroyed instead of aborted with the `signal` option, whose error could be emitted when no
    // listener is left.
    const leave = () => sent.destroy();
    signal.addEventListener('abort', leave, { once: true });
    sent.once('close', () => signal.removeEventListener('abort', leave));
    if (signal.aborted) leave();
    sent.once('response', message => {
      // Readers get the error; this listener handles one that comes when nobody reads any more.
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
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  deflate: () => createInflate(),
  br: () => createBrotliDecompress(),
};

/** Squad asks for no compression, but some servers compress anyway. The reader enforces size limits. */
function decoded(message: IncomingMessage): Readable {
  const encoding = message.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return message;
  const decoder = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding]?.() : undefined;
  if (!decoder) {
    message.destroy();
    throw new UpstreamFault('transport', 'The server answered in an encoding that was not requested.');
  }
  return pipeline(message, decoder, () => {});
}

/** Reads the whole body as text; stops at the limit. */
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
    throw new UpstreamFault('transport', 'The connection broke in the middle of the answer.', {
      cause: error,
    });
  }
  return Buffer.concat(parts).toString();
}

/** Resolves the host name for the connection itself, so that Squad connects to exactly the address that was checked. */
export function guardedLookup(resolve: typeof systemLookup = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error || !first) callback(error ?? new Error(`No address for ${hostname}`), '', 0);
      else if (addresses.some(({ address }) => isRefused(address)))
        callback(
          Object.assign(new Error(`${hostname} is at an address that Squad never connects to`), {
            code: 'EREFUSEDADDRESS',
            syscall: 'getaddrinfo',
          }),
          '',
          0,
        );
      else if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

export interface HttpTarget {
  url: string;
  headers: Record<string, string>;
  /** Replaces name resolution. Only for tests. */
  lookup?: LookupFunction;
}

/** Headers that only Squad sets, never a configuration. */
const OURS =
  /^(host|content-(length|type|encoding)|transfer-encoding|connection|upgrade|te|accept|accept-encoding|expect|last-event-id|mcp-.*)$/i;
/**
 * Maximum number of connections. Higher than the limit of calls in flight, so that a stream of changes never waits for
 * a call.
 */
const MAX_CONNECTIONS = 64;
/**
 * Idle time after which a connection is closed. Shorter than that of most servers: a request on a connection that the
 * server has just closed would be lost.
 */
const IDLE_MS = 4000;

/** Connections, headers and session for one server over HTTP. */
export class HttpSession {
  /** Session id from the answer to `initialize`. Null before that, and for servers without sessions. */
  sessionId: string | null = null;
  protocolVersion: string | null = null;
  readonly url: URL;
  readonly #headers: Record<string, string>;
  readonly #agent: PlainAgent;
  readonly #lookup: LookupFunction;

  constructor({ url, headers, lookup = guardedLookup() }: HttpTarget) {
    this.url = parse(url);
    this.#headers = Object.fromEntries(Object.entries(headers).filter(([name]) => !OURS.test(name)));
    for (const [name, value] of Object.entries(this.#headers)) check(name, value);
    const options = { keepAlive: true, maxSockets: MAX_CONNECTIONS, timeout: IDLE_MS };
    this.#agent = this.url.protocol === 'https:' ? new SecureAgent(options) : new PlainAgent(options);
    this.#lookup = lookup;
  }

  ask(
    method: Exchange['method'],
    details: { body?: string; headers?: Record<string, string>; signal: AbortSignal; url?: URL },
  ): Promise<Answer> {
    const { body, signal, url = this.url } = details;
    const headers = {
      ...this.#headers,
      'accept-encoding': 'identity',
      ...(body !== undefined && {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
      }),
      ...(this.sessionId !== null && { 'mcp-session-id': this.sessionId }),
      ...(this.protocolVersion !== null && { 'mcp-protocol-version': this.protocolVersion }),
      ...details.headers,
    };
    const sent = { url, method, headers, agent: this.#agent, lookup: this.#lookup, signal };
    return exchange(body === undefined ? sent : { ...sent, body });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Reports an invalid header as a configuration error, once. */
function check(name: string, value: string): void {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch (cause) {
    throw new UpstreamFault('start', `The header ${name} cannot be sent as it is.`, { cause });
  }
}

function parse(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new UpstreamFault('start', 'The address of the server is no http or https URL.');
  return url;
}

export const isType = ({ headers }: Answer, type: string): boolean =>
  headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() === type;
