import { afterEach, expect, test } from 'vitest';
import { openHttpLink } from './http-link.ts';
import { bodyOf, serve } from './testing/http-servers.ts';
import { clientInfo, listener } from './testing/stdio-rig.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const inputSchema = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    deep: { type: 'object', properties: { count: { type: 'integer', 'x-mcp-header': 'Count' } } },
    bad: { type: 'string', 'x-mcp-header': 'Not a token' },
    list: { type: 'array', items: { type: 'string', 'x-mcp-header': 'Item' } },
  },
};

test('a modern request repeats in its headers what the protocol and the tool want', async () => {
  const server = await serve(async (request, response) => {
    const { id, method } = await bodyOf(request);
    const results: Record<string, unknown> = {
      'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
      'tools/list': { tools: [{ name: 'Größe', inputSchema }, 7, { name: 8 }] },
    };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method ?? ''] ?? {} }));
  });
  closing.push(server.close);
  const { events } = listener();
  const link = await openHttpLink({
    kind: 'http',
    url: server.url,
    headers: { 'Mcp-Name': 'forged' },
    events,
    clientInfo,
    startTimeoutMs: 5000,
  });
  closing.push(link.close);

  const params = { name: 'Größe', arguments: { region: ' eu ', deep: { count: 3 }, bad: 'x', list: ['y'] } };
  await link.request('tools/call', params, { timeoutMs: 5000 });
  await link.request('tools/list', {}, { timeoutMs: 5000 });
  await link.request('tools/call', params, { timeoutMs: 5000 });
  await link.request('resources/read', { uri: 'a://b' }, { timeoutMs: 5000 });

  const [discover, unlisted, list, listed, read] = server.asked.map(({ headers }) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('mcp-'))),
  );
  const version = { 'mcp-protocol-version': '2026-07-28' };
  const name = `=?base64?${Buffer.from('Größe').toString('base64')}?=`;
  expect(discover).toEqual({ ...version, 'mcp-method': 'server/discover' });
  expect(unlisted).toEqual({ ...version, 'mcp-method': 'tools/call', 'mcp-name': name });
  expect(list).toEqual({ ...version, 'mcp-method': 'tools/list' });
  expect(listed).toEqual({
    ...unlisted,
    'mcp-param-region': `=?base64?${Buffer.from(' eu ').toString('base64')}?=`,
    'mcp-param-count': '3',
  });
  expect(read).toEqual({ ...version, 'mcp-method': 'resources/read', 'mcp-name': 'a://b' });
});
