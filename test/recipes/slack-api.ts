import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text as bodyOf } from 'node:stream/consumers';

export interface SlackApi extends AsyncDisposable {
  /** Method and channel of every call that came. */
  calls: string[];
  /** Written to `file`, loaded before a program, it leads that program's questions to Slack here. */
  writeDetour(file: string): void;
}

/** As much of Slack's web API as its MCP server uses, for one bot. */
export async function startSlackApi(token: string): Promise<SlackApi> {
  const calls: string[] = [];
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
    const body = await bodyOf(request);
    const channel = searchParams.get('channel') ?? (body ? JSON.parse(body).channel : null);
    calls.push(`${pathname.replace('/api/', '')} ${channel ?? '-'}`);
    const isBot = request.headers.authorization === `Bearer ${token}`;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify(isBot ? { ok: true, ...ANSWERS[pathname] } : { ok: false, error: 'invalid_auth' }),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return {
    calls,
    writeDetour: file =>
      writeFileSync(
        file,
        `const there = globalThis.fetch;
globalThis.fetch = (url, options) => there(String(url).replace('https://slack.com', 'http://127.0.0.1:${port}'), options);
`,
      ),
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

const messages = [{ type: 'message', user: 'U1', text: 'Ship it on Friday', ts: '1.0' }];
const ANSWERS: Record<string, object> = {
  '/api/conversations.list': { channels: [{ id: 'C0SQUAD0001', name: 'squad' }] },
  '/api/conversations.history': { messages },
  '/api/conversations.replies': { messages },
  '/api/chat.postMessage': { ts: '2.0' },
};
