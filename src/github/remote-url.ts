import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export type Protocol = 'https' | 'http' | 'ssh' | 'file';

/** What the address of a remote says. */
export interface RemoteUrl {
  protocol: Protocol;
  /** With its port, where one is named; null for a folder of this machine. */
  host: string | null;
  owner: string;
  name: string;
  /** The address again, without passwords and tokens. */
  url: string;
}

/** Every form git knows for a repository that can be pushed to; null: it is none of them. A relative folder counts from `root`. */
export function parseRemoteUrl(text: string, root: string): RemoteUrl | null {
  const written = text.trim();
  // `ext::program` and its like would run something.
  if (written === '' || /^[\w+.-]+::/.test(written)) return null;
  if (/^[a-z][\w+.-]*:\/\//i.test(written)) return fromUrl(written);
  const [, host, path] = SHORT_FORM.exec(written) ?? [];
  return host && path ? overSsh(host, path, written) : inFolder(resolve(root, written));
}

/**
 * An address as it may be shown: whatever may be a password is left out. Up to the last `@`, because a password that is not
 * written as it should be can hold anything, and without what a query or a command says.
 */
export function shownAddress(text: string): string {
  const [, scheme = '', rest = ''] = /^([a-z][\w+.-]*:(?:\/\/|:))?(.*)$/is.exec(text.trim()) ?? [];
  if (scheme.endsWith('::')) return `${scheme}…`;
  const place = rest.slice(rest.lastIndexOf('@') + 1).replace(/[?#].*$/s, '');
  return `${scheme}${place}`.slice(0, 200);
}

/** `git@host:owner/name`: no slash before the first colon. */
const SHORT_FORM = /^(?:[^@/:]+@)?(\[[^\]]+\]|[^/:@[]+):(.+)$/s;

function fromUrl(written: string): RemoteUrl | null {
  const url = URL.parse(written);
  if (!url) return null;
  const { protocol, host, hostname, pathname, username } = url;
  switch (protocol) {
    case 'https:':
    case 'http:':
      // What git is to show is the token we have, never what somebody left in the address.
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

/** What begins with a dash would be an option of ssh. */
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
