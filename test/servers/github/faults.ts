import type { ServerResponse } from 'node:http';
import type { GitHubServer } from './server.ts';

/** Something that goes wrong with one request. */
export interface Fault {
  /** Of `METHOD /path`. */
  on: RegExp;
  does:
    | 'rate limit'
    | 'secondary rate limit'
    | 'forbid'
    | 'unprocessable'
    | 'break'
    | 'web page'
    | 'hang'
    | 'cut'
    | 'cut body'
    | 'repeat token'
    | 'redirect'
    /** Answered as usual, after something else happened. */
    | { first: () => void | Promise<void> };
}

/** When requests are taken again, in seconds. */
export const RESET = 1_900_000_000;

/** Whether the request is to be answered all the same. */
export async function misbehave(
  { does }: Fault,
  response: ServerResponse,
  github: GitHubServer,
): Promise<boolean> {
  const json = (status: number, message: string, headers: Record<string, string> = {}, more: object = {}) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify({ message, ...more }));
  if (typeof does === 'object') {
    await does.first();
    return true;
  }
  switch (does) {
    case 'rate limit':
      json(403, 'API rate limit exceeded for user ID 1.', {
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': `${RESET}`,
      });
      break;
    case 'secondary rate limit':
      json(429, 'You have exceeded a secondary rate limit.', { 'retry-after': '60' });
      break;
    case 'forbid':
      json(403, 'Resource not accessible by personal access token');
      break;
    case 'unprocessable':
      json(
        422,
        'Validation Failed',
        {},
        { errors: [{ resource: 'Issue', field: 'title', code: 'missing_field' }] },
      );
      break;
    case 'break':
      json(500, 'Server Error');
      break;
    case 'web page':
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<!doctype html><title>Log in to the network</title>');
      break;
    case 'repeat token':
      json(403, `The token ${github.token} may not do that`);
      break;
    case 'redirect':
      response.writeHead(302, { location: 'http://127.0.0.1:1/elsewhere' }).end();
      break;
    case 'cut body':
      response
        .writeHead(201, { 'content-type': 'application/json', 'content-length': '1000' })
        .write('{"number": 1');
      setImmediate(() => response.destroy());
      break;
    case 'cut':
      response.destroy();
      break;
    case 'hang':
  }
  return false;
}
