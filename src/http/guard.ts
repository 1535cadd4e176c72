import { randomBytes } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

const WEB_HOST = /^squad-[0-9a-f]{20}\.localhost:\d{1,5}$/;

/**
 * A random name under `.localhost`, which browsers resolve to loopback. Nobody can know the name before this hub uses
 * it.
 */
export const newWebHost = (): string => `squad-${randomBytes(10).toString('hex')}.localhost`;

/** Whether this is the host of any hub's web UI, even of a hub that has ended. */
const isWebHost = (host: string): boolean => WEB_HOST.test(host);

/** Values of `Host` under which this hub answers, including the port. */
export class Hosts {
  /**
   * Origin of the web UI. Browser storage and workers belong to one origin, so data that others left at 127.0.0.1
   * cannot reach the web UI.
   */
  readonly web: string;
  /** Addresses of the port, for programs that send a token. */
  readonly addresses: readonly string[];
  private isWebAtAddress = false;

  constructor(webName: string, port: number) {
    this.web = `${webName}:${port}`;
    this.addresses = [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];
  }

  isAddress(host: string): boolean {
    return this.addresses.includes(host);
  }

  isWeb(host: string): boolean {
    return host === this.web || (this.isWebAtAddress && host === this.addresses[0]);
  }

  /** Makes the web UI available at 127.0.0.1 too, for browsers that do not resolve the random name. */
  openAtAddress(): string {
    this.isWebAtAddress = true;
    return this.addresses[0]!;
  }
}

/**
 * Any page in the user's browser can send requests to loopback, so a local request is not trusted by itself. The Host
 * header must be ours, which rules out DNS rebinding, and so must the Origin header, which every browser sends.
 * Duplicates of either header are refused, and so are request lines that name a host, because that would override the
 * Host header.
 */
export function refuseForeign({ headersDistinct, url }: IncomingMessage, hosts: Hosts): Refusal | null {
  const { host = [], origin = [] } = headersDistinct;
  const [name = ''] = host;
  if (!url?.startsWith('/') || host.length !== 1 || !(hosts.isWeb(name) || hosts.isAddress(name)))
    return isWebHost(name) && host.length === 1
      ? HUB_ENDED
      : { status: 403, code: 'HOST_REFUSED', message: `Use http://${hosts.addresses[0]}` };
  if (origin.length > 0 && !(origin.length === 1 && origin[0] === `http://${name}`))
    return {
      status: 403,
      code: 'ORIGIN_REFUSED',
      message: 'Squad refuses requests from web pages of other sites',
    };
  return null;
}

/** Each hub has its own host name for the web UI. This one comes from a bookmark, the history or an old tab. */
const HUB_ENDED: Refusal = {
  status: 403,
  code: 'HOST_REFUSED',
  message: 'This address belongs to a hub that has ended.',
  suggestions: ['To open the web UI of the running hub, run `squad open`.'],
  isForBrowser: true,
};

/** The token of a request. A request with two tokens counts as having none. */
export function tokenOf({ headersDistinct }: IncomingMessage): string | null {
  const [given, ...more] = headersDistinct.authorization ?? [];
  return more.length > 0 ? null : (/^Bearer +(\S+)$/i.exec(given ?? '')?.[1] ?? null);
}

/** Refusal for an unknown or missing token. An agent whose run has ended gets the same answer. */
export const UNKNOWN: Refusal = {
  status: 401,
  code: 'TOKEN_WRONG',
  message: 'Send "Authorization: Bearer …" with the token from the file that `squad hub status` names',
};

export interface Refusal {
  status: number;
  code: string;
  message: string;
  suggestions?: string[];
  /**
   * True if a browser requested the web UI at a wrong address: the answer is text for a person, and data stored for
   * that address is not Squad's.
   */
  isForBrowser?: true;
}

/**
 * Headers of every response: only our own page may use it, with its declared type, and nobody may cache it. Other sites
 * never get access.
 */
export const OWN_ONLY = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

/** Makes a browser delete storage and service workers of the origin. */
const EVICT = { 'clear-site-data': '"storage"' };

/** Sends JSON to programs, and text to a person with a browser. */
export function refuse(response: ServerResponse, refusal: Refusal): void {
  const { headers } = response.req;
  const mode = refusal.isForBrowser ? headers['sec-fetch-mode'] : undefined;
  const isWorker = mode !== undefined && headers['service-worker'] !== undefined;
  response.writeHead(refusal.status, {
    ...headersOf(refusal),
    // Storage is not cleared for requests of scripts, because an old tab may still contain unsent text.
    ...((mode === 'navigate' || mode === 'no-cors' || isWorker) && EVICT),
    ...(mode === 'navigate' && { 'content-type': 'text/plain; charset=utf-8' }),
  });
  response.end(mode === 'navigate' ? textOf(refusal) : bodyOf(refusal));
}

const textOf = ({ message, suggestions = [] }: Refusal): string =>
  `${[message, ...suggestions].join('\n')}\n`;

/** Refuses on a connection without a response object. Closes the connection without waiting for the client. */
export function refuseOnSocket(socket: Duplex, refusal: Refusal): void {
  const body = bodyOf(refusal);
  const headers = { ...headersOf(refusal), 'content-length': String(Buffer.byteLength(body)) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`, ...lines];
  socket.end([...head, '', body].join('\r\n'), () => socket.destroy());
}

const headersOf = ({ status }: Refusal): Record<string, string> => ({
  ...OWN_ONLY,
  'content-type': 'application/json',
  connection: 'close',
  ...(status === 401 && { 'www-authenticate': 'Bearer' }),
  ...(status === 429 && { 'retry-after': '1' }),
});

function bodyOf({ status, code, message, suggestions = [] }: Refusal): string {
  const kind = status >= 500 ? 'internal' : 'usage';
  return `${JSON.stringify({ error: { code, kind, message, suggestions, details: null } })}\n`;
}
