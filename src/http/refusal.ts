import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

export interface Refusal {
  status: number;
  code: string;
  message: string;
  suggestions?: string[];
}

/** With everything we send: it is for our own page alone, as what it says it is, and for nobody to keep. No other site is ever told it may look. */
export const OWN_ONLY = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

export function refuse(response: ServerResponse, refusal: Refusal): void {
  response.writeHead(refusal.status, headersOf(refusal));
  response.end(bodyOf(refusal));
}

/** Who keeps its half of the connection open is not waited for. */
export function refuseUpgrade(socket: Duplex, refusal: Refusal): void {
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
