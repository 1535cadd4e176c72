import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { figure } from '../faults/figures.ts';
import { realGateway } from '../support/real-gateway.ts';
import { FORBIDDEN_URLS, NO_WEB_URLS } from './corpus/urls.ts';
import { faultOf } from './open-server.ts';

/** Every connection this process begins, whoever begins it. */
const begun: Socket[] = [];
const note = (message: unknown) => void begun.push((message as { socket: Socket }).socket);

let server: Server;
let origin: string;
let target = '';

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    response.writeHead(307, { location: target }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  begun.length = 0;
  subscribe('net.client.socket', note);
});
afterEach(() => void unsubscribe('net.client.socket', note));

test('there are more than thirty addresses that nothing may connect to', { tags: ['R28'] }, () => {
  const all = new Set([...FORBIDDEN_URLS, ...NO_WEB_URLS]);
  expect(all.size).toBeGreaterThanOrEqual(30);
  figure('R28', { reached: all.size, of: 30, told: 'addresses, none was connected to' });
});

describe('a server at an address where there are only credentials', () => {
  test.each(FORBIDDEN_URLS)(
    '%s is never connected to',
    { tags: ['requests-to-where-only-credentials-are'] },
    async url => {
      expect(await faultOf({ kind: 'http', url, headers: {} })).toBe('start');
      expect(await faultOf({ kind: 'sse', url, headers: {} })).toBe('start');
      expect(begun).toEqual([]);
    },
  );

  test('is reported as a fault, and does not affect the other servers', {
    tags: ['requests-to-where-only-credentials-are'],
  }, async () => {
    const urls = [...FORBIDDEN_URLS, ...NO_WEB_URLS.filter(Boolean)];
    const servers = Object.fromEntries(
      urls.map((url, at) => [`s${at}`, { type: 'http', url, tools: ['*'] }]),
    );
    await using fixture = realGateway({ servers, shared: Object.keys(servers) });
    const run = fixture.run();
    fixture.gateway.prepare(run);
    expect(await fixture.view(run).tools()).toEqual([]);
    const statuses = await fixture.gateway.status(null);
    expect(statuses.filter(({ fault }) => fault === null)).toEqual([]);
    expect(begun).toEqual([]);
  });
});

describe('a server that sends us on', () => {
  test.each(FORBIDDEN_URLS)(
    'to %s is not followed',
    { tags: ['requests-to-where-only-credentials-are'] },
    async url => {
      target = encodeURI(url.trim().replaceAll('\t', ''));
      expect(await faultOf({ kind: 'http', url: `${origin}/mcp`, headers: { 'X-Key': 'secret' } })).not.toBe(
        'none',
      );
      expect(begun.length).toBeGreaterThan(0);
      expect(
        begun.filter(socket => socket.remoteAddress !== undefined && socket.remoteAddress !== '127.0.0.1'),
      ).toEqual([]);
    },
  );
});
