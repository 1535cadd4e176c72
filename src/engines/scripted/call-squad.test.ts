import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { callSquad, type SquadAccess } from './call-squad.ts';

async function answering(status: number, message: string): Promise<SquadAccess> {
  const server = createServer((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message } }));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const env = { SQUAD_MCP_URL: `http://127.0.0.1:${port}/mcp`, SQUAD_MCP_TOKEN: 'secret' };
  return { env, replaceKilledHub: async () => {} };
}

test('a hub that is stopping is one that is not there, not one that refuses', async () => {
  await expect(callSquad(await answering(503, 'The server is stopping'), 'x', {})).rejects.toThrow(
    'Squad cannot be called: The server is stopping',
  );
});

test('a refusal is an answer', async () => {
  expect(await callSquad(await answering(401, 'This access has ended'), 'x', {})).toEqual({
    ok: false,
    text: 'This access has ended',
  });
});
