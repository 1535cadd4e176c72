import type { IncomingMessage } from 'node:http';
import type { Refusal } from './refusal.ts';

/**
 * Any page in the user's browser can send requests to loopback, so being local proves nothing: the Host must be ours
 * (a rebound name is not), and so must the Origin, which every browser sends along. Said twice, neither counts, and
 * a request line that names a host of its own would count more than the Host.
 */
export function refuseForeign({ headersDistinct, url }: IncomingMessage, port: number): Refusal | null {
  const own = [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];
  const { host = [], origin = [] } = headersDistinct;
  if (!url?.startsWith('/') || host.length !== 1 || !own.includes(host[0]!))
    return { status: 403, code: 'HOST_REFUSED', message: `Use http://127.0.0.1:${port}` };
  const isOurs = origin.length === 1 && own.some(name => origin[0] === `http://${name}`);
  if (origin.length > 0 && !isOurs)
    return { status: 403, code: 'ORIGIN_REFUSED', message: 'Pages of other sites may not call Squad' };
  return null;
}

/** What a request shows to say whose it is. Two of them are none: which one counts is not for us to guess. */
export function tokenOf({ headersDistinct }: IncomingMessage): string | null {
  const [given, ...more] = headersDistinct.authorization ?? [];
  return more.length > 0 ? null : (/^Bearer +(\S+)$/i.exec(given ?? '')?.[1] ?? null);
}

/** Nobody knows this token, or none was shown. An agent whose run has ended is told the same. */
export const UNKNOWN: Refusal = {
  status: 401,
  code: 'TOKEN_WRONG',
  message: 'Send "Authorization: Bearer …" with the token from the file that `squad hub status` names',
};
