import { BlockList, isIP } from 'node:net';

const refused = new BlockList();
// Link-local addresses, where clouds and routers answer every request, in IPv4 and IPv6. BlockList itself recognises
// IPv4 mapped into IPv6.
refused.addSubnet('169.254.0.0', 16, 'ipv4');
refused.addSubnet('fe80::', 10, 'ipv6');
refused.addSubnet('::a9fe:0', 112, 'ipv6');
refused.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6');
refused.addSubnet('2002:a9fe::', 32, 'ipv6');
// Metadata services at other addresses: AWS, Google, Oracle, Alibaba, Azure.
refused.addAddress('fd00:ec2::254', 'ipv6');
refused.addAddress('fd20:ce::254', 'ipv6');
refused.addAddress('192.0.0.192', 'ipv4');
refused.addAddress('100.100.100.200', 'ipv4');
refused.addAddress('168.63.129.16', 'ipv4');

/**
 * Whether Squad refuses to connect to an address: link-local and cloud metadata addresses offer credentials, not tools.
 */
export function isRefused(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && refused.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** Like `isRefused`, for a host that is written as an IP address, because such a host is never resolved. */
export const isRefusedHost = (hostname: string): boolean => isRefused(hostname.replace(/^\[|\]$/g, ''));
