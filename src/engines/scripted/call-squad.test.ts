import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { ask } from './ask.ts';
import { callSquad, requireAddress, type SquadAccess } from './call-squad.ts';

const QUESTION_ANSWERED = JSON.stringify({
  result: { content: [{ text: JSON.stringify({ status: 'answered', id: 'ask_1', answer: 'b' }) }] },
});

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

test('a question waits for the next hub however long that takes; other calls give up', async () => {
  const server = createServer((_, response) => response.end(QUESTION_ANSWERED)).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise(closed => server.close(closed));
  let hours = 0;
  let losses = 0;
  const { now } = performance;
  performance.now = () => now.call(performance) + hours * 3_600_000;
  onTestFinished(() => {
    performance.now = now;
  });
  const env = { SQUAD_MCP_URL: `http://127.0.0.1:${port}/mcp`, SQUAD_MCP_TOKEN: 'secret' };
  const replaceKilledHub = async () => {
    hours++;
    if (++losses === 4) await once(server.listen(port, '127.0.0.1'), 'listening');
  };
  await expect(callSquad({ env, replaceKilledHub }, 'x', {})).rejects.toThrow('fetch failed');
  expect(await ask({ env, replaceKilledHub }, '"Which?" a b')).toEqual({ ok: true, text: 'b' });
  expect(losses).toBe(4);
  expect(() => requireAddress({ env: {}, replaceKilledHub })).toThrow('was given no address');
});
