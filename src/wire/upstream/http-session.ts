import { lookup as systemLookup } from 'node:dns';
import { Agent as PlainAgent, validateHeaderName, validateHeaderValue } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import type { LookupFunction } from 'node:net';
import { isRefused } from '../../base/network.ts';
import { type Answer, type Exchange, exchange } from './http-exchange.ts';
import { UpstreamFault } from './link.ts';

/** Looks a name up for a connection that is about to be made: what was checked is what is connected to. */
export function guardedLookup(resolve: typeof systemLookup = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error || !first) callback(error ?? new Error(`No address for ${hostname}`), '', 0);
      else if (addresses.some(({ address }) => isRefused(address)))
        callback(
          Object.assign(new Error(`${hostname} is at an address that is never connected to`), {
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
  /** For tests: who answers questions for names. */
  lookup?: LookupFunction;
}

/** Set by us, from what is sent. */
const OURS =
  /^(host|content-(length|type|encoding)|transfer-encoding|connection|upgrade|te|accept|accept-encoding|expect|last-event-id|mcp-.*)$/i;
/** More than calls in flight, so that a stream of changes never waits for a call. */
const MAX_CONNECTIONS = 64;
/** An idle connection is let go before most servers let it go: a request on one that has just ended would be lost. */
const IDLE_MS = 4000;

/** Everything that goes to one server over HTTP: its connections, its headers, the session it gave us. */
export class HttpSession {
  /** From the answer to `initialize`; null before, and for servers that keep none. */
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

/** Here, where it is a mistake in the configuration, and not with every request. */
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
