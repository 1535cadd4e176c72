import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { startModelServer } from './model-server/server.ts';

test('only loopback is there', () => {
  expect(Object.keys(networkInterfaces())).toEqual(['lo']);
});

// Documentation addresses: were there a network after all, nobody is disturbed.
test.each(['192.0.2.1', '203.0.113.1', '2001:db8::1'])('nothing reaches %s', async host => {
  expect(await outcome(host, 443)).toMatch(/^(ENETUNREACH|EADDRNOTAVAIL|EHOSTUNREACH)$/);
});

test('servers on loopback are reached', async () => {
  await using server = await startModelServer();
  const { hostname, port } = new URL(server.url);
  expect(await outcome(hostname, Number(port))).toBe('connected');
});

function outcome(host: string, port: number): Promise<string> {
  return new Promise(resolve => {
    const socket = connect({ host, port });
    socket.once('connect', () => {
      socket.destroy();
      resolve('connected');
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}
