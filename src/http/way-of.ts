import type { IncomingMessage } from 'node:http';

/** What a request is for. Files hold no secret, a ticket or a key is a secret of its own; everything else shows a token. */
export type Way = 'mcp' | 'api' | 'ticket' | 'file' | 'none';

/** Where a browser goes by itself, and so cannot show a token; and what a page does before it has or shows one. */
const WITHOUT_TOKEN = ['GET /api/live', 'GET /api/download', 'GET /api/proof', 'POST /api/session'];

export function wayOf({ method, url }: Pick<IncomingMessage, 'method' | 'url'>): Way {
  const path = pathOf(url);
  const isRead = method === 'GET' || method === 'HEAD';
  if (path === '/mcp') return 'mcp';
  if (WITHOUT_TOKEN.includes(`${method} ${path}`)) return 'ticket';
  if (path === '/api' || path.startsWith('/api/')) return 'api';
  return isRead && !path.startsWith('/mcp/') ? 'file' : 'none';
}

/** Only this becomes a WebSocket. */
export const isLive = ({ method, url, headers }: IncomingMessage): boolean =>
  method === 'GET' && pathOf(url) === '/api/live' && headers.upgrade?.toLowerCase() === 'websocket';

const pathOf = (url: string | undefined): string => url?.split('?', 1)[0] ?? '';
