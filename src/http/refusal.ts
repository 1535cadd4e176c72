import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

export interface Refusal {
  status: number;
  code: string;
  message: string;
  suggestions?: string[];
  /** A browser looked for the web UI where it is not: a person reads this, and whatever the browser holds there is not ours. */
  isForBrowser?: true;
}

/** With everything we send: it is for our own page alone, as what it says it is, and for nobody to keep. No other site is ever told it may look. */
export const OWN_ONLY = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

/** Makes a browser forget storage and service workers of the origin. */
const EVICT = { 'clear-site-data': '"storage"' };

/** Programs get JSON; a person with a browser gets text. */
export function refuse(response: ServerResponse, refusal: Refusal): void {
  const { headers } = response.req;
  const mode = refusal.isForBrowser ? headers['sec-fetch-mode'] : undefined;
  const isWorker = mode !== undefined && headers['service-worker'] !== undefined;
  response.writeHead(refusal.status, {
    ...headersOf(refusal),
    // Not for requests of scripts: an old tab may still hold words that were not sent.
    ...((mode === 'navigate' || mode === 'no-cors' || isWorker) && EVICT),
    ...(mode === 'navigate' && { 'content-type': 'text/plain; charset=utf-8' }),
  });
  response.end(mode === 'navigate' ? textOf(refusal) : bodyOf(refusal));
}

const textOf = ({ message, suggestions = [] }: Refusal): string =>
  `${[message, ...suggestions].join('\n')}\n`;

/** Where there is no response to write to. Closes the connection without waiting for the client to close its half. */
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
