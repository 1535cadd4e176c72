import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export interface Refusal {
  status: 401 | 403 | 404 | 500;
  code: string;
  message: string;
}

/**
 * Any page in the user's browser can send requests to loopback, so being local proves nothing: the Host must be ours
 * (a rebound name is not), and so must the Origin, which every browser sends along.
 */
export function refuseForeign({ headers }: IncomingMessage, port: number): Refusal | null {
  const own = [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];
  if (!own.includes(headers.host ?? ''))
    return { status: 403, code: 'HOST_REFUSED', message: `Use http://127.0.0.1:${port}` };
  const { origin } = headers;
  if (origin !== undefined && !own.some(host => origin === `http://${host}`))
    return { status: 403, code: 'ORIGIN_REFUSED', message: 'Pages of other sites may not call Squad' };
  return null;
}

/** Being the user's own program shows in knowing what only the user can read. */
export function refuseUnknown({ headers }: IncomingMessage, token: string): Refusal | null {
  const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  if (given !== undefined && isSame(given, token)) return null;
  return {
    status: 401,
    code: 'TOKEN_WRONG',
    message: 'Send "Authorization: Bearer …" with the token from the file that `squad hub status` names',
  };
}

/** Takes the same time however much of the token is right. */
function isSame(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
