import { SquadError } from '../schema/error.ts';
import { type RemoteUrl, shownAddress } from './remote-url.ts';

const GITHUB = { api: 'https://api.github.com', hosts: ['github.com', 'www.github.com', 'ssh.github.com'] };

/**
 * The address of the API: what the user set, or GitHub's own for a remote at GitHub. Never guessed from another host's name: an agent
 * can change the address of a remote, and the token goes to the API, the code to the remote.
 */
export function apiUrlOf(remote: RemoteUrl, asked: string | null): string {
  if (asked !== null) {
    const apiUrl = checked(asked);
    if (isSameHost(remote, apiUrl)) return apiUrl;
    throw elsewhere(remote, apiUrl);
  }
  const { host } = remote;
  const name = host && (remote.protocol === 'ssh' ? withoutPort(host) : host.toLowerCase());
  if (name && GITHUB.hosts.includes(name)) return GITHUB.api;
  const where = host === null ? `a folder on this machine (${shownAddress(remote.url)})` : `at ${host}`;
  throw new SquadError(
    'REMOTE_MISSING',
    `The remote is ${where}, not at github.com, and GITHUB_API_URL is not set`,
    {
      suggestions: [
        'Set GITHUB_API_URL in the environment of your client, for example https://github.example.com/api/v3 (https://api.github.com for an ssh alias of GitHub itself). The token is sent to no other host.',
      ],
    },
  );
}

/** Whether the remote is on the host that gets the token anyway. */
export function isServedBy(remote: RemoteUrl, apiUrl: string): boolean {
  const api = new URL(apiUrl);
  if (`${remote.protocol}:` !== api.protocol) return false;
  if (apiUrl === GITHUB.api) return GITHUB.hosts.includes(remote.host ?? '');
  // GitHub Enterprise Cloud: api.NAME.ghe.com belongs to NAME.ghe.com.
  return remote.host === api.host || (api.host.endsWith('.ghe.com') && api.host === `api.${remote.host}`);
}

/** A host alias, which only the user's ssh configuration can resolve: no address, and no name that anybody can register. */
const SSH_ALIAS = /^[a-z][\w-]*$/i;

/** Whether API and remote are on the same host. A folder belongs to no other host. */
function isSameHost(remote: RemoteUrl, apiUrl: string): boolean {
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
        'Point the remote to the host of the API (`git remote set-url`), or set GITHUB_API_URL in the environment of your client to the API of the remote.',
      ],
    },
  );

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
      'Set it to an address like https://github.example.com/api/v3, without a user name or token.',
    ],
  });
}
