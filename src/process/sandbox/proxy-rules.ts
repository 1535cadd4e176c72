import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { isRefused } from '../../base/network.ts';

const notPublic = new BlockList();
for (const [address, bits] of [
  ...([
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
  ] as const),
  ...([
    ['172.16.0.0', 12],
    ['192.0.0.0', 24],
    ['192.168.0.0', 16],
    ['198.18.0.0', 15],
    ['224.0.0.0', 3],
  ] as const),
] as const)
  notPublic.addSubnet(address, bits, 'ipv4');
for (const [address, bits] of [
  // The first four ranges contain translated IPv4 addresses, and a translated address may be a private one.
  ...([
    ['::', 96],
    ['64:ff9b::', 96],
    ['64:ff9b:1::', 48],
    ['2002::', 16],
  ] as const),
  ...([
    ['fc00::', 7],
    ['fec0::', 10],
    ['ff00::', 8],
  ] as const),
] as const)
  notPublic.addSubnet(address, bits, 'ipv6');

const USUAL_PORTS = [443, 80];

/**
 * Returns null if the host is not on the list. `isLiteral` is true if the list has the host's full name and not only a
 * pattern; such a host may be in a private network.
 */
export function allowance(
  hosts: readonly string[],
  host: string,
  port: number,
): { isLiteral: boolean } | null {
  const name = host.toLowerCase().replace(/\.$/, '');
  const matching = hosts.filter(entry => {
    const [pattern = '', only] = entry.toLowerCase().split(':');
    if (!(only === undefined ? USUAL_PORTS.includes(port) : Number(only) === port)) return false;
    return pattern.startsWith('*.')
      ? name.endsWith(pattern.slice(1)) && name.length >= pattern.length
      : name === pattern;
  });
  if (matching.length === 0) return null;
  return { isLiteral: matching.some(entry => !entry.startsWith('*.')) };
}

export type Refusal = 'not_listed' | 'private_address';

/**
 * Looks up the addresses of a host and returns those that the agent may connect to, or the reason for a refusal. The
 * proxy must connect to these addresses without a second lookup, because DNS could give another answer.
 */
export async function addressesOf(
  hosts: readonly string[],
  host: string,
  port: number,
): Promise<{ addresses: LookupAddress[] } | { refused: Refusal } | { unknown: string }> {
  const allowed = allowance(hosts, host, port);
  if (!allowed) return { refused: 'not_listed' };
  let found: LookupAddress[];
  try {
    found = await lookup(host, { all: true });
  } catch (thrown) {
    return { unknown: (thrown as Error).message };
  }
  const addresses = found.filter(
    ({ address }) => !isRefused(address) && (allowed.isLiteral || isPublic(address)),
  );
  return addresses.length === 0 ? { refused: 'private_address' } : { addresses };
}

export function isPublic(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && !isRefused(address) && !notPublic.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
