import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { type End, isOwnPeer, parsePeers, peerIn as peerOfEnd } from './own-peer.ts';

const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
const HUB = { address: '127.0.0.1', port: 3001 };
const PEER = { address: '127.0.0.1', port: 40_000 };

/** A line as this machine's kernel would write it; the samples are those of a little-endian one. */
const line = (local: string, remote: string, { state = '01', uid = 1000, inode = 4242 } = {}) =>
  `   7: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 ${inode} 1 00000000ca3ec2c9 20 4 30 10 -1`;

const peerIn = (table: string, own: End, other: End) => peerOfEnd(parsePeers(table), own, other);

test('the owner of a connection is that of its other end, and of no other', () => {
  const table = [
    HEAD,
    line('0100007F:0BB9', '00000000:0000', { state: '0A', uid: 1 }),
    line('0100007F:0BB9', '0100007F:9C40', { uid: 2 }),
    line('0500007F:9C40', '0100007F:0BB9', { uid: 3 }),
    line('0100007F:9C40', '0100007F:0BBA', { uid: 4 }),
    line('0100007F:9C40', '0100007F:0BB9', { uid: 1000 }),
  ].join('\n');
  expect(peerIn(table, PEER, HUB)).toEqual({ uid: 1000, inode: '4242' });
  expect(peerIn(table, { ...PEER, address: '127.0.0.5' }, HUB)).toMatchObject({ uid: 3 });
  expect(peerIn(table, { ...PEER, port: 40_001 }, HUB)).toBeNull();
});

test('a program that thinks in IPv6 is found as well', () => {
  const mapped = '0000000000000000FFFF00000100007F';
  expect(peerIn(line(`${mapped}:9C40`, `${mapped}:0BB9`, { uid: 65_534 }), PEER, HUB)).toMatchObject({
    uid: 65_534,
  });
});

test('a connection over the loopback address of IPv6 has an owner too', () => {
  const one = '00000000000000000000000001000000';
  const ends = [
    { ...PEER, address: '::1' },
    { ...HUB, address: '::1' },
  ] as const;
  expect(peerIn(line(`${one}:9C40`, `${one}:0BB9`, { uid: 65_534 }), ...ends)).toMatchObject({ uid: 65_534 });
  expect(peerIn(line('01000000:9C40', '01000000:0BB9', { uid: 65_534 }), ...ends)).toBeNull();
});

test('a connection its program has closed is nobody’s, though it is written down as root’s', () => {
  const own = ['0100007F:9C40', '0100007F:0BB9'] as const;
  expect(peerIn(line(...own, { state: '05', uid: 0, inode: 0 }), PEER, HUB)).toBeNull();
  expect(peerIn(line(...own, { uid: 0, inode: 0 }), PEER, HUB)).toBeNull();
});

test('a program that has only said its last word is still found', () => {
  const own = ['0100007F:9C40', '0100007F:0BB9'] as const;
  expect(peerIn(line(...own, { state: '05' }), PEER, HUB)).toEqual({ uid: 1000, inode: '4242' });
  expect(peerIn(line(...own, { state: '06' }), PEER, HUB)).toBeNull();
});

test('malformed content names no peer', () => {
  for (const table of ['', HEAD, 'x\n\n  \n', '1: 0100007F:9C40'])
    expect(peerIn(table, PEER, HUB)).toBeNull();
  expect(peerIn(line('0100007F:9C40', '0100007F:0BB9'), { address: '', port: 0 }, HUB)).toBeNull();
});

test.each(['127.0.0.1', '::1'])('a connection of our own at %s is ours', async host => {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const peer = connect((server.address() as { port: number }).port, host);
  const [accepted] = (await once(server, 'connection')) as [Socket];
  expect(await isOwnPeer(accepted)).toBe(true);
  peer.destroy();
  server.close();
});

test('connections that come while others are looked up are found too', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const looked: Promise<boolean>[] = [];
  server.on('connection', socket => looked.push(isOwnPeer(socket)));
  const peers = Array.from({ length: 50 }, () => connect(port, '127.0.0.1'));
  await expect.poll(() => looked.length).toBe(50);
  expect(await Promise.all(looked)).toEqual(Array(50).fill(true));
  for (const peer of peers) peer.destroy();
  server.close();
});
