import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { endianness } from 'node:os';

export interface End {
  address: string;
  port: number;
}

/** The other end of a connection in the kernel's tables. */
export interface Peer {
  uid: number;
  inode: string;
}

/**
 * TCP states of an open connection: ESTABLISHED, and two states in which the program has closed only its sending half
 * and may still wait for the answer.
 */
const OPEN_STATES = ['01', '04', '05'];

/**
 * The program's end of a loopback connection. Undefined if the system has no such tables, null when the connection is
 * no longer in them.
 */
export async function peerOf(socket: Socket): Promise<Peer | null | undefined> {
  if (process.platform !== 'linux') return undefined;
  const peers = await peersNow();
  if (peers === null) return undefined;
  const peer = { address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 };
  const here = { address: socket.localAddress ?? '', port: socket.localPort ?? 0 };
  return peerIn(peers, peer, here);
}

let reading: Promise<unknown> = Promise.resolve();
let nextReading: Promise<Peers | null> | null = null;

/**
 * Reads the kernel's tables. Calls during a reading share the next one: each table lists every connection, so a
 * reading for each of many connections would take time with the square of their number.
 */
function peersNow(): Promise<Peers | null> {
  nextReading ??= reading.then(() => {
    nextReading = null;
    const tables = readTables();
    reading = tables;
    return tables;
  });
  return nextReading;
}

async function readTables(): Promise<Peers | null> {
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map(name => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')),
  );
  return tables.every(table => table === '') ? null : parsePeers(tables.join('\n'));
}

/**
 * Whether the other end of a loopback connection belongs to this user, or to root, who can read everything anyway. Also
 * true where the system has no such tables: other users cannot read command lines there.
 */
export async function isOwnPeer(socket: Socket): Promise<boolean> {
  const peer = await peerOf(socket);
  return peer === undefined || peer?.uid === process.getuid?.() || peer?.uid === 0;
}

/** Open connections by their two ends, as the kernel's tables spell them. */
type Peers = Map<string, Peer>;

export function parsePeers(tables: string): Peers {
  const peers: Peers = new Map();
  for (const line of tables.split('\n')) {
    const [, local, remote, state, , , , uid, , inode] = line.trim().split(/\s+/);
    // A socket that its program has closed is listed as owned by root.
    if (!OPEN_STATES.includes(state!) || inode === undefined || inode === '0') continue;
    peers.set(`${local} ${remote}`, { uid: Number(uid), inode });
  }
  return peers;
}

/** Finds the holder of the `own` end of a connection to `other`; null if there is none. */
export function peerIn(peers: Peers, own: End, other: End): Peer | null {
  for (const mine of namesOf(own))
    for (const theirs of namesOf(other)) {
      const peer = peers.get(`${mine} ${theirs}`);
      if (peer) return peer;
    }
  return null;
}

/**
 * Spellings of a loopback end in the kernel's tables: an IPv4 address as IPv4 and as mapped IPv6, or an IPv6 address.
 */
function namesOf({ address, port }: End): string[] {
  const bytes = address
    .replace(/^::ffff:/i, '')
    .replace(/^::1$/, '0.0.0.1')
    .split('.')
    .map(Number);
  const isLittle = endianness() === 'LE';
  const word = hex(isLittle ? bytes.reverse() : bytes);
  const zeros = '0'.repeat(16);
  const mapped = `${zeros}${isLittle ? 'FFFF0000' : '0000FFFF'}${word}`;
  const names = address === '::1' ? [`${zeros}${'0'.repeat(8)}${word}`] : [word, mapped];
  return names.map(name => `${name}:${port.toString(16).toUpperCase().padStart(4, '0')}`);
}

const hex = (bytes: number[]): string =>
  bytes.map(byte => byte.toString(16).toUpperCase().padStart(2, '0')).join('');
