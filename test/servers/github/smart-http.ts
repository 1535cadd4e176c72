import { spawn } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { GitHubServer } from './server.ts';

/** Git's own program for this, behind the password GitHub takes: any name with the token. */
export async function serveGit(
  github: GitHubServer,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const [, basic] = /^Basic (.+)$/.exec(request.headers.authorization ?? '') ?? [];
  const password = basic && Buffer.from(basic, 'base64').toString('utf8').split(':')[1];
  if (password !== github.token) {
    response.writeHead(401, { 'www-authenticate': 'Basic realm="GitHub"' }).end('Invalid username or token.');
    return;
  }
  const backend = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      PATH: process.env.PATH,
      HOME: github.folder,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_PROJECT_ROOT: github.folder,
      GIT_HTTP_EXPORT_ALL: '1',
      REMOTE_USER: 'x-access-token',
      REQUEST_METHOD: request.method,
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
  });
  const sent = pipeline(request, backend.stdin);
  const chunks: Buffer[] = [];
  for await (const chunk of backend.stdout) chunks.push(chunk as Buffer);
  await sent;
  const answer = Buffer.concat(chunks);
  const headEnd = answer.indexOf('\r\n\r\n');
  const headers = Object.fromEntries(
    answer
      .toString('latin1', 0, headEnd)
      .split('\r\n')
      .map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const { Status: status = '200', ...rest } = headers;
  response.writeHead(Number.parseInt(status, 10), rest).end(answer.subarray(headEnd + 4));
}
