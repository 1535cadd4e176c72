import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export type Protocol = 'https' | 'http' | 'ssh' | 'file';

export interface RemoteUrl {
  protocol: Protocol;
  /** With its port, if any; null for a folder on this machine. */
  host: string | null;
  owner: string;
  name: string;
  /** Without passwords and tokens. */
  url: string;
}

/** Parses every form of address that git can push to; null: none of them. A relative folder starts at `root`. */
export function parseRemoteUrl(text: string, root: string): RemoteUrl | null {
  const written = text.trim();
  // `ext::program` and the like would run a program.
  if (written === '' || /^[\w+.-]+::/.test(written)) return null;
  if (/^[a-z][\w+.-]*:\/\//i.test(written)) return fromUrl(written);
  const [, host, path] = SHORT_FORM.exec(written) ?? [];
  return host && path ? overSsh(host, path, written) : inFolder(resolve(root, written));
}

/**
 * An address without anything that may be a password: all up to the last `@`, because a password that is not encoded can contain
 * anything, and query, fragment and command.
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
      // Git must send our token, never credentials left in the address.
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

/** A leading dash would make it an option of ssh. */
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
