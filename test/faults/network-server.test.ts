import type { ServerResponse } from 'node:http';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { GatewayFixture, plainRequest, refusalOf } from '../../src/gateway/testing/gateway-fixture.ts';
import { createConnect } from '../../src/gateway/upstream/connect.ts';
import { createServiceTags } from '../../src/process/programs/service.ts';
import { createProcessTable } from '../../src/process/table/process-table.ts';
import { until } from '../../src/process/testing/turn-fixture.ts';
import { bodyOf, refuse, serve } from '../../src/wire/upstream/testing/http-servers.ts';
import { amountOf, figure } from './figures.ts';

interface Failure {
  name: string;
  answer(response: ServerResponse): void;
  /** In the text that the agent gets. */
  told: RegExp;
  /** When the hub asks again by itself; 0: it probes at once. */
  retryMs: number | null;
}

/** The time limit of a call, which a server that stalls uses up. */
const STALL_MS = amountOf(30_000, 1_000);
const COOLDOWN_MS = 60_000;
const A_DAY_MS = 86_400_000;

const FAILURES: Failure[] = [
  { name: 'a reset', answer: response => void response.destroy(), told: /broke/, retryMs: COOLDOWN_MS },
  {
    name: 'a truncated answer',
    answer(response) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"jsonrpc":"2.0"', () => response.destroy());
    },
    told: /broke in the middle/,
    retryMs: COOLDOWN_MS,
  },
  {
    name: 'HTTP 401',
    answer: response => void response.writeHead(401).end(),
    told: /401/,
    retryMs: null,
  },
  {
    name: 'HTTP 403',
    answer: response => void response.writeHead(403).end(),
    told: /403/,
    retryMs: null,
  },
  {
    name: 'HTTP 429 with Retry-After',
    answer: response => void response.writeHead(429, { 'retry-after': '90' }).end(),
    told: /429/,
    retryMs: 90_000,
  },
  {
    name: 'HTTP 503',
    answer: response => void response.writeHead(503).end(),
    told: /503/,
    retryMs: COOLDOWN_MS,
  },
  {
    name: 'a redirect to another host',
    answer: response => void response.writeHead(307, { location: 'http://127.0.0.2:9/mcp' }).end(),
    told: /redirects/,
    retryMs: COOLDOWN_MS,
  },
  { name: 'a stall', answer: () => {}, told: /No answer to tools\/call within the time limit/, retryMs: 0 },
  {
    name: 'another content type',
    answer: response => void response.setHeader('content-type', 'text/html').end('<html>'),
    told: /neither JSON nor events/,
    retryMs: COOLDOWN_MS,
  },
  {
    name: 'invalid events',
    answer: response =>
      void response.setHeader('content-type', 'text/event-stream').end('<html>\n\ndata: {"a\n\n'),
    told: /without an answer/,
    retryMs: COOLDOWN_MS,
  },
];
const seen: string[] = [];
afterAll(() => {
  if (seen.length === FAILURES.length)
    figure('R25', { reached: seen.length, of: 10, told: `each has its outcome: ${seen.join(', ')}` });
});

test.each(FAILURES.map(failure => [failure.name, failure] as const))(
  'a server on the network that fails with %s: its caller gets one error, and the server is retried on schedule or never',
  { tags: ['R25'], timeout: 60_000 },
  async (name, { answer, told, retryMs }) => {
    const server = await faultyServer(answer);
    const fixture = new GatewayFixture({
      connect: createConnect({
        table: createProcessTable(),
        nextTag: createServiceTags('no processes here').next,
        clientInfo: { name: 'squad', version: '0' },
      }),
      config: {
        servers: {
          far: { type: 'http', url: server.url, tools: ['*'], cooldown: COOLDOWN_MS, timeout: STALL_MS },
        },
        shared: ['far'],
      },
    });
    onTestFinished(() => fixture.gateway.close());
    const view = fixture.view(fixture.run());
    expect(await view.tools()).toHaveLength(1);
    const call = () => view.call('far__do', { arguments: {} }, plainRequest());
    const refusal = refusalOf(await call());
    expect(refusal).toMatchObject({ code: 'SERVER_UNAVAILABLE', message: expect.stringMatching(told) });
    expect(refusal.message).toMatch(/not repeated\.$/);
    const now = fixture.time.now();
    const [status] = await fixture.gateway.status(null);
    expect(status!.retryAt).toBe(retryMs === null ? null : now + retryMs);
    const asked = server.asked.length;
    if (retryMs !== 0) await fixture.time.pass((retryMs ?? A_DAY_MS) - 1);
    if (retryMs !== 0) expect(server.asked).toHaveLength(asked);
    expect(server.calls()).toBe(1);
    if (retryMs !== null) {
      await fixture.time.pass(1);
      await until(async () => (await call())?.isError !== true, 'the server to be back');
    }
    seen.push(name);
  },
);

/** Answers the handshake and lists one tool; its first call fails in the given way, the others are answered. */
async function faultyServer(answer: Failure['answer']) {
  let calls = 0;
  const server = await serve(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id = 0, method = '' } = await bodyOf(request);
    const send = (result: object) =>
      void response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    if (method === 'server/discover') refuse(response, 400, -32601, 'Method not found');
    else if (method === 'initialize')
      send({
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'far', version: '0' },
      });
    else if (method === 'tools/list') send({ tools: [{ name: 'do', inputSchema: { type: 'object' } }] });
    else if (method.startsWith('notifications/')) response.writeHead(202).end();
    else if (method === 'tools/call' && ++calls === 1) answer(response);
    else send({ content: [{ type: 'text', text: 'done' }] });
  });
  onTestFinished(() => server.close());
  return { ...server, calls: () => calls };
}
