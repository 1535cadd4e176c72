import type { IncomingMessage } from 'node:http';
import { type Hosts, isPageName } from './hosts.ts';
import type { Refusal } from './refusal.ts';

/**
 * Any page in the user's browser can send requests to loopback, so being local proves nothing: the Host must be ours
 * (a rebound name is not), and so must the Origin, which every browser sends along. Said twice, neither counts, and
 * a request line that names a host of its own would count more than the Host.
 */
export function refuseForeign({ headersDistinct, url }: IncomingMessage, hosts: Hosts): Refusal | null {
  const { host = [], origin = [] } = headersDistinct;
  const [name = ''] = host;
  if (!url?.startsWith('/') || host.length !== 1 || !(hosts.isPage(name) || hosts.isAddress(name)))
    return isPageName(name) && host.length === 1
      ? HUB_ENDED
      : { status: 403, code: 'HOST_REFUSED', message: `Use http://${hosts.addresses[0]}` };
  if (origin.length > 0 && !(origin.length === 1 && origin[0] === `http://${name}`))
    return { status: 403, code: 'ORIGIN_REFUSED', message: 'Pages of other sites may not call Squad' };
  return null;
}

/** Every hub has a name of its own for the web UI: this one is in a bookmark, the history, or a tab that is still open. */
const HUB_ENDED: Refusal = {
  status: 403,
  code: 'HOST_REFUSED',
  message: 'This address belongs to a hub that has ended.',
  suggestions: ['To open the web UI of the hub that is running: squad open'],
  isForBrowser: true,
};

/** What a request shows to say whose it is. Two of them are none: which one counts is not for us to guess. */
export function tokenOf({ headersDistinct }: IncomingMessage): string | null {
  const [given, ...more] = headersDistinct.authorization ?? [];
  return more.length > 0 ? null : (/^Bearer +(\S+)$/i.exec(given ?? '')?.[1] ?? null);
}

/** Nobody knows this token, or none was shown. An agent whose run has ended is told the same. */
export const UNKNOWN: Refusal = {
  status: 401,
  code: 'TOKEN_WRONG',
  message: 'Send "Authorization: Bearer …" with the token from the file that `squad hub status` names',
};
