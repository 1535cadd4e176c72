import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { endianness } from 'node:os';

/** One end of a connection. */
export interface End {
  address: string;
  port: number;
}

/** The other end of a connection, as the kernel knows it: who holds it, and by which socket. */
export interface Peer {
  uid: number;
  inode: string;
}

/** Established, and two in which only the program's own half is closed: it may still wait for the answer. */
const OPEN_STATES = ['01', '04', '05'];

/**
 * The program's end of a loopback connection. Undefined where the system does not say, null where it does and there is
 * none any more.
 */
export async function peerOf(socket: Socket): Promise<Peer | null | undefined> {
  if (process.platform !== 'linux') return undefined;
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map(name => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')),
  );
  if (tables.every(table => table === '')) return undefined;
  const peer = { address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 };
  const here = { address: socket.localAddress ?? '', port: socket.localPort ?? 0 };
  return peerIn(tables.join('\n'), peer, here);
}

/**
 * Whether the other end of a loopback connection is held by us, or by root, who can read everything in any case. Where Linux does
 * not say, nobody else can read our command lines either.
 */
export async function isOwnPeer(socket: Socket): Promise<boolean> {
  const peer = await peerOf(socket);
  return peer === undefined || peer?.uid === process.getuid?.() || peer?.uid === 0;
}

/** Holder of the `own` end of a connection to `other`, by the kernel's tables. Null: they name nobody. */
export function peerIn(tables: string, own: End, other: End): Peer | null {
  const [mine, theirs] = [namesOf(own), namesOf(other)];
  for (const line of tables.split('\n')) {
    const [, local, remote, state, , , , uid, , inode] = line.trim().split(/\s+/);
    // One that its program has closed belongs to nobody, and is written down as root's.
    if (!OPEN_STATES.includes(state!) || inode === undefined || inode === '0') continue;
    if (mine.includes(local!) && theirs.includes(remote!)) return { uid: Number(uid), inode };
  }
  return null;
}

/** As the kernel writes a loopback end: an IPv4 one for a program that uses IPv4 and for one that uses IPv6, and that of IPv6. */
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
