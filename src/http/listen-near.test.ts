import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import { createServer as createTcpServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { listenNear } from './listen-near.ts';

const close = (server: Server) => new Promise(settle => server.close(settle));
const both: Server[] = [];
afterEach(() => Promise.all(both.splice(0).map(close)));

async function near(wanted: number): Promise<number> {
  const server = createServer();
  const { port, other } = await listenNear(server, wanted);
  both.push(server, ...(other ? [other] : []));
  return port;
}

test('the wanted port, or one of the next ones when it is taken', async () => {
  const taken = await near(0);
  const next = await near(taken);
  expect(next).toBeGreaterThan(taken);
  expect(next).toBeLessThanOrEqual(taken + 20);
});

test('at the end of the numbers, or beyond it, any port will do', async () => {
  const ports = [await near(65_535), await near(65_535), await near(99_999)];
  expect(new Set(ports).size).toBe(3);
  for (const port of ports) expect(port).toBeGreaterThan(0);
});

test.each(['127.0.0.1', '::1'])(
  'a port that another program has at %s is not ours',
  { tags: ['S2'] },
  async host => {
    const other = createTcpServer().listen(0, host);
    await once(other, 'listening');
    both.push(other);
    const { port } = other.address() as { port: number };
    expect(await near(port)).toBeGreaterThan(port);
  },
);

test.each(['127.0.0.1', '::1'])(
  'requests at %s are answered, and nobody else can listen there',
  async host => {
    const server = createServer((_, response) => response.end('ours'));
    const { port, other } = await listenNear(server, 0);
    both.push(server, other!);
    const [response] = (await once(get({ host, port }), 'response')) as [IncomingMessage];
    expect(String((await response.toArray())[0])).toBe('ours');
    const [error] = await once(createTcpServer().listen(port, host), 'error');
    expect(error).toMatchObject({ code: 'EADDRINUSE' });
  },
);
