import { readdirSync, readlinkSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createSocketHolders } from './socket-holder.ts';

const sockets = () =>
  readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1] ?? [];
    } catch {
      return []; // the listing's own descriptor
    }
  });

// Other systems do not say who holds a socket.
describe.runIf(process.platform === 'linux')('a socket', () => {
  test('is found with the process that holds it, also the second time; one that nobody holds is not', async () => {
    const holders = createSocketHolders();
    const before = new Set(sockets());
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise(settle => server.once('listening', settle));
    const peer = connect((server.address() as { port: number }).port, '127.0.0.1');
    await new Promise(settle => peer.once('connect', settle));
    const own = sockets().filter(inode => !before.has(inode));
    expect(own.length).toBeGreaterThan(0);
    for (const inode of [...own, ...own]) expect(holders.holderOf(inode)).toBe(process.pid);
    expect(holders.holderOf('0')).toBeNull();
    peer.destroy();
    server.close();
  });

  test('is hidden by no process below this one, nor by one that is not there', () => {
    expect(createSocketHolders().anyHidesBelow([process.pid, 2 ** 30])).toBe(false);
  });
});
