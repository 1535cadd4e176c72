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
  return fromShortForm(written) ?? named({ protocol: 'file', host: null, url: resolve(root, written) });
}

/** An address that could not be read, as it may be shown: what may be a password is left out. */
export const shownAddress = (text: string): string =>
  text.replace(/^([a-z][\w+.-]*:\/\/)[^/@]*@/i, '$1').slice(0, 200);

function fromUrl(written: string): RemoteUrl | null {
  const url = URL.parse(written);
  if (!url) return null;
  const place = `${url.host}${url.pathname}`;
  switch (url.protocol) {
    case 'https:':
    case 'http:':
      // What git is to show is the token we have, never what somebody left in the address.
      return named({ protocol: url.protocol === 'https:' ? 'https' : 'http', host: url.host, url: `${url.protocol}//${place}` });
    case 'ssh:':
    case 'git+ssh:':
    case 'ssh+git:':
      return ofSsh(url.hostname, `ssh://${url.username ? `${url.username}@` : ''}${place}`);
    case 'file:':
      return url.host === '' ? named({ protocol: 'file', host: null, url: fileURLToPath(url) }) : null;
    default:
      return null;
  }
}

/** `git@host:owner/name`: no slash before the first colon. */
function fromShortForm(written: string): RemoteUrl | null {
  const parts = /^(?:[^@/:]+@)?(\[[^\]]+\]|[^/:@[]+):(.+)$/s.exec(written);
  return parts ? ofSsh(parts[1]!, written) : null;
}

/** A host that begins with a dash would be an option of ssh. */
const ofSsh = (host: string, url: string): RemoteUrl | null =>
  host.startsWith('-') || url.startsWith('-') ? null : named({ protocol: 'ssh', host, url });

function named(remote: Omit<RemoteUrl, 'owner' | 'name'>): RemoteUrl | null {
  const path = remote.url.replace(/\/+$/, '').replace(/\.git$/, '');
  const [, owner, name] = /(?:^|[/:])([^/:]+)\/+([^/:]+)$/.exec(path) ?? [];
  return owner && name && [owner, name].every(isName) ? { ...remote, owner, name } : null;
}

const isName = (text: string): boolean => /^[\w.-]+$/.test(text) && !/^\.+$/.test(text);
