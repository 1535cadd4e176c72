import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { listenNear } from './listen-near.ts';

const close = (server: ReturnType<typeof createServer>) => new Promise(settle => server.close(settle));

test('the wanted port, or one of the next ones when it is taken', async () => {
  const [first, second] = [createServer(), createServer()];
  const taken = await listenNear(first, 0);
  const near = await listenNear(second, taken);
  expect(near).toBeGreaterThan(taken);
  expect(near).toBeLessThanOrEqual(taken + 20);
  await Promise.all([close(first), close(second)]);
});

test('at the end of the numbers, or beyond it, any port will do', async () => {
  const servers = [createServer(), createServer(), createServer()];
  const ports = [];
  for (const [i, wanted] of [65_535, 65_535, 99_999].entries())
    ports.push(await listenNear(servers[i]!, wanted));
  expect(new Set(ports).size).toBe(3);
  for (const port of ports) expect(port).toBeGreaterThan(0);
  await Promise.all(servers.map(close));
});
