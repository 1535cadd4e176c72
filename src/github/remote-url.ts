import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SquadError } from '../schema/error.ts';

export type Protocol = 'https' | 'http' | 'ssh' | 'file';

export interface RemoteUrl {
  protocol: Protocol;
  /** Host with its port, if any. Null for a folder on this machine. */
  host: string | null;
  owner: string;
  name: string;
  /** URL without passwords and tokens. */
  url: string;
}

/**
 * Parses every form of address that git can push to. Null if it is none of them. A relative folder is relative to
 * `root`.
 */
export function parseRemoteUrl(text: string, root: string): RemoteUrl | null {
  const written = text.trim();
  // Addresses such as `ext::program` are refused, because git would run the program.
  if (written === '' || /^[\w+.-]+::/.test(written)) return null;
  if (/^[a-z][\w+.-]*:\/\//i.test(written)) return fromUrl(written);
  const [, host, path] = SHORT_FORM.exec(written) ?? [];
  return host && path ? overSsh(host, path, written) : inFolder(resolve(root, written));
}

/**
 * The address without parts that may contain a password: everything up to the last `@` (a password that is not encoded
 * can contain anything), query, fragment and command.
 */
export function shownAddress(text: string): string {
  const [, scheme = '', rest = ''] = /^([a-z][\w+.-]*:(?:\/\/|:))?(.*)$/is.exec(text.trim()) ?? [];
  if (scheme.endsWith('::')) return `${scheme}…`;
  const place = rest.slice(rest.lastIndexOf('@') + 1).replace(/[?#].*$/s, '');
  return `${scheme}${place}`.slice(0, 200);
}

/** Matches `git@host:owner/name`: no slash before the first colon. */
const SHORT_FORM = /^(?:[^@/:]+@)?(\[[^\]]+\]|[^/:@[]+):(.+)$/s;

function fromUrl(written: string): RemoteUrl | null {
  const url = URL.parse(written);
  if (!url) return null;
  const { protocol, host, hostname, pathname, username } = url;
  switch (protocol) {
    case 'https:':
    case 'http:':
      // The user part is left out: git must send Squad's token, never credentials that are part of the address.
      return named(pathname, {
        protocol: protocol === 'https:' ? 'https' : 'http',
        host,
        url: `${protocol}//${host}${pathname}`,
      });
    case 'ssh:':
    case 'git+ssh:':
    case 'ssh+git:':
      return overSsh(hostname, pathname, `ssh://${username ? `${username}@` : ''}${host}${pathname}`);
    case 'file:':
      return host === '' ? inFolder(fileURLToPath(url)) : null;
    default:
      return null;
  }
}

/** A leading dash would make the host an option of ssh. */
const overSsh = (host: string, path: string, url: string): RemoteUrl | null =>
  host.startsWith('-') || url.startsWith('-') ? null : named(path, { protocol: 'ssh', host, url });

const inFolder = (folder: string): RemoteUrl | null =>
  named(folder, { protocol: 'file', host: null, url: folder });

function named(path: string, remote: Omit<RemoteUrl, 'owner' | 'name'>): RemoteUrl | null {
  const [owner, name] = path
    .replace(/\/+$/, '')
    .replace(/\.git$/, '')
    .split('/')
    .filter(Boolean)
    .slice(-2);
  return owner && name && [owner, name].every(isName) ? { ...remote, owner, name } : null;
}

const isName = (text: string): boolean => /^[\w.-]+$/.test(text) && !/^\.+$/.test(text);

const GITHUB = { api: 'https://api.github.com', hosts: ['github.com', 'www.github.com', 'ssh.github.com'] };

/**
 * Address of the API: the one that the user set, or GitHub's own for a remote at GitHub. It is never guessed from the
 * name of another host: an agent can change the address of a remote, and the token goes to the API and the code to the
 * remote.
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

/**
 * An ssh host alias, which only the user's ssh configuration can resolve: it is neither an address nor a name that
 * anybody can register.
 */
const SSH_ALIAS = /^[a-z][\w-]*$/i;

/** Whether API and remote are on the same host. A folder on this machine counts as the same host. */
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
