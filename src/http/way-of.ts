import type { IncomingMessage } from 'node:http';
import type { Hosts } from './hosts.ts';

/**
 * Purpose of a request. Files hold no secret, a ticket or a key is a secret of its own; everything else shows a token. `elsewhere`:
 * a document of the web UI, which is at another host.
 */
export type Way = 'mcp' | 'api' | 'ticket' | 'file' | 'elsewhere' | 'none';

/** A browser requests these by itself, so it cannot send a token. */
const BY_TICKET = ['GET /api/live', 'GET /api/download'];
/** Requests of a page that has no session yet, or does not know yet who answers. */
const BEFORE_SESSION = ['GET /api/proof', 'POST /api/session'];

export function wayOf({ method, url, headers }: IncomingMessage, hosts: Hosts): Way {
  const path = pathOf(url);
  const host = headers.host ?? '';
  const isPage = hosts.isPage(host);
  if (path === '/mcp') return hosts.isAddress(host) ? 'mcp' : 'none';
  if (BY_TICKET.includes(`${method} ${path}`)) return 'ticket';
  if (BEFORE_SESSION.includes(`${method} ${path}`)) return isPage ? 'ticket' : 'none';
  if (path === '/api' || path.startsWith('/api/')) return 'api';
  const isRead = method === 'GET' || method === 'HEAD';
  if (!isRead || path.startsWith('/mcp/')) return 'none';
  return isPage ? 'file' : 'elsewhere';
}

/** Only this becomes a WebSocket. */
export const isLive = ({ method, url, headers }: IncomingMessage): boolean =>
  method === 'GET' && pathOf(url) === '/api/live' && headers.upgrade?.toLowerCase() === 'websocket';

const pathOf = (url: string | undefined): string => url?.split('?', 1)[0] ?? '';
