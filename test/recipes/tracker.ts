import { once } from 'node:events';
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

export interface Tracker extends AsyncDisposable {
  url: string;
  comments: string[];
}

/** A remote issue tracker in the shape of those there are: streamable HTTP, a bearer token, tools to read and to change. */
export async function startTracker(token: string): Promise<Tracker> {
  const comments: string[] = [];
  const issues = [
    { id: 'ENG-1', title: 'The cart forgets its items' },
    { id: 'ENG-2', title: 'Search finds nothing' },
  ];
  const handle = toNodeHandler(createMcpHandler(() => trackerServer(issues, comments)));
  const server = createServer((request, response) => {
    if (request.headers.authorization === `Bearer ${token}`) void handle(request, response);
    else response.writeHead(401).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`,
    comments,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

interface Issue {
  id: string;
  title: string;
}

function trackerServer(issues: Issue[], comments: string[]): McpServer {
  const server = new McpServer({ name: 'tracker', version: '1.0.0' });
  const say = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] });
  const id = z.string();
  const find = (wanted: string) => {
    const found = issues.find(issue => issue.id === wanted);
    if (!found) throw new Error(`There is no issue ${wanted}`);
    return found;
  };
  server.registerTool('list_issues', { description: 'Lists issues.' }, async () => say(issues));
  server.registerTool(
    'get_issue',
    { description: 'One issue.', inputSchema: z.object({ id }) },
    async ({ id }) => say(find(id)),
  );
  server.registerTool(
    'create_issue',
    { description: 'Opens an issue.', inputSchema: z.object({ title: z.string() }) },
    async ({ title }) => {
      const issue = { id: `ENG-${issues.length + 1}`, title };
      issues.push(issue);
      return say(issue);
    },
  );
  server.registerTool(
    'update_issue',
    { description: 'Changes an issue.', inputSchema: z.object({ id, title: z.string() }) },
    async ({ id, title }) => say(Object.assign(find(id), { title })),
  );
  server.registerTool(
    'create_comment',
    { description: 'Comments on an issue.', inputSchema: z.object({ id, body: z.string() }) },
    async ({ id, body }) => {
      comments.push(`${find(id).id}: ${body}`);
      return say({ ok: true });
    },
  );
  server.registerTool(
    'delete_issue',
    { description: 'Deletes an issue.', inputSchema: z.object({ id }) },
    async ({ id }) => say(issues.splice(issues.indexOf(find(id)), 1)),
  );
  return server;
}
