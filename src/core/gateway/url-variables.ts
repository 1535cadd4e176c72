import type { Secret } from '../../redaction/redactor.ts';
import { substitute } from './substitution.ts';

export type FilledUrl =
  | {
      url: string;
      /** Hosts that came from variables together with a port: they turn up without it. */
      hosts: Secret[];
    }
  /** Why not, after "the url of x"; says nothing of the values. */
  | { fault: string };

/** A name or address, with a port or without. */
const HOST = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;
/** The beginning of a URL up to somewhere in its user, password, host or port. */
const IN_AUTHORITY = /^\s*[a-z][a-z0-9+.-]*:[/\\]*[^/?#\\]*$/i;
/** An `@` that was meant to end a password: the password has a character in it that ended the host before. */
const LATE_AT = /^\s*[a-z][a-z0-9+.-]*:[/\\]*[^/?#\\]*[:@][^/?#\\]*[/?#\\].*@/is;

/**
 * Puts values into a URL. One at its very beginning is a URL itself; any other is a piece of the part it stands in and cannot
 * end that part, so no value decides which host is asked but one that stands where the host does.
 */
export function fillUrl(text: string, valueFor: (name: string) => string): FilledUrl {
  const hosts: Secret[] = [];
  let fault: string | null = null;
  let isBase = false;
  const url = substitute(text, (name, before, after) => {
    const value = valueFor(name);
    if (before === '') {
      isBase = true;
      return value;
    }
    if (!IN_AUTHORITY.test(before) || /^[^/?#\\]*@/.test(after))
      return encodeURIComponent(value.toWellFormed());
    const host = HOST.exec(value);
    if (host === null) fault = `has ${name} as its host, whose value is no host`;
    else if (host[1] !== value) hosts.push({ name, value: host[1]! });
    return value;
  });
  if (fault === null && isBase && LATE_AT.test(url))
    fault =
      'has an @ behind its host; as part of a user name, a password or a path it is written %40, and / is written %2F';
  return fault === null ? { url, hosts } : { fault };
}
