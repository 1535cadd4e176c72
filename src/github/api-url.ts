import { SquadError } from '../schema/error.ts';
import type { RemoteUrl } from './remote-url.ts';

const GITHUB = { api: 'https://api.github.com', hosts: ['github.com', 'www.github.com', 'ssh.github.com'] };

/**
 * Where the API is: the user's word, or GitHub's own for a remote that is there. Never guessed from another host's name:
 * an agent can write the address of a remote, and the token goes where the API is.
 */
export function apiUrlOf(remote: RemoteUrl, asked: string | null): string {
  if (asked !== null) return checked(asked);
  if (remote.host !== null && GITHUB.hosts.includes(hostName(remote))) return GITHUB.api;
  const where = remote.host === null ? `a folder of this machine (${remote.url})` : `at ${remote.host}`;
  throw new SquadError(
    'REMOTE_MISSING',
    `The remote is ${where}, not at github.com, and nobody said where the API for it is`,
    {
      suggestions: [
        'Set GITHUB_API_URL in the environment of your client, for example https://github.example.com/api/v3 (https://api.github.com for an ssh alias of GitHub itself). The token is sent to no other host.',
      ],
    },
  );
}

/** Whether git's requests to this address go to those who have the token anyway. */
export function isServedBy(remote: RemoteUrl, apiUrl: string): boolean {
  const api = new URL(apiUrl);
  if (`${remote.protocol}:` !== api.protocol) return false;
  if (apiUrl === GITHUB.api) return GITHUB.hosts.includes(remote.host ?? '');
  // Hosts of GitHub's own with a name of the customer's: api.NAME.ghe.com beside NAME.ghe.com.
  return remote.host === api.host || (api.host.endsWith('.ghe.com') && api.host === `api.${remote.host}`);
}

const hostName = ({ host, protocol }: RemoteUrl): string =>
  (protocol === 'ssh' ? host?.replace(/:\d+$/, '') : host)?.toLowerCase() ?? '';

function checked(asked: string): string {
  const url = URL.parse(asked.trim());
  const isLoopback = url !== null && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
  const isRight =
    url !== null &&
    (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback)) &&
    url.username === '';
  if (isRight) return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
  throw new SquadError('CONFIG_INVALID', 'GITHUB_API_URL is not the https address of an API', {
    suggestions: [
      'Set it to an address like https://github.example.com/api/v3, without a name or token in it.',
    ],
  });
}
