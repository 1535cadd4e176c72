import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export interface Refusal {
  status: 401 | 403;
  message: string;
}

/**
 * Who may talk to the port at all. Any page in the user's browser can send requests to loopback, so being local proves
 * nothing: the Host must be ours (a rebound name is not), a browser's Origin must be ours, and the token must be right.
 */
export function guard(request: IncomingMessage, port: number, token: string): Refusal | null {
  const own = [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];
  if (!own.includes(request.headers.host ?? ''))
    return { status: 403, message: 'HOST_REFUSED: use http://127.0.0.1 and the port' };
  const { origin } = request.headers;
  if (origin !== undefined && !own.some(host => origin === `http://${host}`))
    return { status: 403, message: 'ORIGIN_REFUSED: pages of other sites may not call Squad' };
  const given = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (given === undefined || !same(given, token))
    return {
      status: 401,
      message:
        'TOKEN_WRONG: send "Authorization: Bearer …" with the token from the file `squad hub status` names',
    };
  return null;
}

/** Takes the same time however much of the token is right. */
function same(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
