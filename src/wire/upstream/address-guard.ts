import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isRefused } from '../../base/network.ts';

/** Looks a name up for a connection that is about to be made: what was checked is what is connected to. */
export function guardedLookup(resolve: typeof systemLookup = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error || !first) callback(error ?? new Error(`No address for ${hostname}`), '', 0);
      else if (addresses.some(({ address }) => isRefused(address)))
        callback(
          Object.assign(new Error(`${hostname} is at an address that is never connected to`), {
            code: 'EREFUSEDADDRESS',
            syscall: 'getaddrinfo',
          }),
          '',
          0,
        );
      else if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}
