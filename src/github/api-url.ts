import { SquadError } from '../schema/error.ts';
import { type RemoteUrl, shownAddress } from './remote-url.ts';

const GITHUB = { api: 'https://api.github.com', hosts: ['github.com', 'www.github.com', 'ssh.github.com'] };

/**
 * Where the API is: the user's word, or GitHub's own for a remote that is there. Never guessed from another host's name:
 * an agent can write the address of a remote, the token goes where the API is, and the code where the remote is.
 */
export function apiUrlOf(remote: RemoteUrl, asked: string | null): string {
  if (asked !== null) {
    const apiUrl = checked(asked);
    if (isBeside(remote, apiUrl)) return apiUrl;
    throw elsewhere(remote, apiUrl);
  }
  if (remote.host !== null && GITHUB.hosts.includes(hostName(remote))) return GITHUB.api;
  const where =
    remote.host === null ? `a folder of this machine (${shownAddress(remote.url)})` : `at ${remote.host}`;
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

/** A name that only the user's ssh configuration can lead to another host: no address, and none that anybody can register. */
const SSH_ALIAS = /^[a-z][\w-]*$/i;

/** Whether the host of the API is the remote's too. A folder is no other host's. */
function isBeside(remote: RemoteUrl, apiUrl: string): boolean {
  if (remote.host === null) return true;
  if (remote.protocol === 'ssh' && SSH_ALIAS.test(remote.host)) return true;
  const name = withoutPort(remote.host);
  if (apiUrl === GITHUB.api) return GITHUB.hosts.includes(name);
  const api = new URL(apiUrl).hostname;
  return name === api || (api.endsWith('.ghe.com') && api === `api.${name}`);
}

const withoutPort = (host: string): string => host.replace(/:\d+$/, '').toLowerCase();

const elsewhere = ({ host }: RemoteUrl, apiUrl: string): SquadError =>
  new SquadError(
    'REMOTE_MISSING',
    `The remote is at ${host}, and GITHUB_API_URL is for ${new URL(apiUrl).host}: nothing is pushed to another host`,
    {
      suggestions: [
        'Let the remote point to the host of the API (`git remote set-url`), or set GITHUB_API_URL in the environment of your client to the API of the remote.',
      ],
    },
  );

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
