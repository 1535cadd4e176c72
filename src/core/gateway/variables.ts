import { hash } from 'node:crypto';
import { posix } from 'node:path';
import { canonicalJson } from '../../base/json.ts';
import { isRefusedHost } from '../../base/network.ts';
import { percentDecoded } from '../../base/text.ts';
import type { Secret } from '../../redaction/redactor.ts';
import type { McpConfig, Server } from '../../schema/mcp-config.ts';

/** Whether a variable with this name is likely to contain a secret. */
export const looksSecretName = (name: string): boolean =>
  /TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH(?!ORS?(_|$))/i.test(name);

/** Whether a header with this name is likely to contain a secret. */
export const looksSecretHeader = (name: string): boolean =>
  looksSecretName(name) || /cookie|session|signature/i.test(name);

/**
 * Variables that every program has. Redacting their values would hide every path, and agents do not work without them.
 */
export const isOrdinaryVariable = (name: string): boolean =>
  /^(HOME|PATH|PWD|USER|LOGNAME|SHELL|TMPDIR|TERM|TZ|LANG|LANGUAGE|LC_[A-Z]+|XDG_[A-Z_]+)$/.test(name);

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** The names in `${NAME}`, in order. Any other `$` is an ordinary character. */
export const namesIn = (text: string): string[] => [...text.matchAll(VARIABLE)].map(([, name]) => name!);

/**
 * Replaces variables once: a value that looks like a variable is not replaced again. `before` is the text before the
 * variable, with values filled in; `after` is the rest.
 */
export function substitute(
  text: string,
  valueFor: (name: string, before: string, after: string) => string,
): string {
  let done = '';
  let at = 0;
  for (const found of text.matchAll(VARIABLE)) {
    done += text.slice(at, found.index);
    at = found.index + found[0].length;
    done += valueFor(found[1]!, done, text.slice(at));
  }
  return done + text.slice(at);
}

/** The first `${…` that is not a valid variable. Null if there is none. */
export function malformedVariable(text: string): string | null {
  const left = text.replace(VARIABLE, '');
  const at = left.indexOf('${');
  return at < 0 ? null : /^\$\{[^}]{0,40}\}?/.exec(left.slice(at))![0];
}

type FilledUrl =
  | {
      url: string;
      /** Hosts that came from variables together with a port: they may also appear without the port. */
      hosts: Secret[];
    }
  /** Why the URL cannot be used, as a continuation of "the url of x"; never contains a value. */
  | { fault: string };

/** A host name or address, with or without a port. */
const HOST = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;
/** Matches the beginning of a URL up to a position in its user, password, host or port. */
const IN_AUTHORITY = /^\s*[a-z][a-z0-9+.-]*:[/\\]*[^/?#\\]*$/i;
/** Matches an `@` that was meant to end a password, if a character in the password has ended the host part earlier. */
const LATE_AT = /^\s*[a-z][a-z0-9+.-]*:[/\\]*[^/?#\\]*[:@][^/?#\\]*[/?#\\].*@/is;

/**
 * Replaces variables in a URL. A value at the very beginning is a URL itself. Any other value stays within the part
 * that it is in, so that only a value in the place of the host decides which host Squad connects to.
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

/** Values set by Squad: they are not secret, and no environment can override them. */
export interface Roots {
  /** Folder of the run's own checkout. */
  WORKSPACE_ROOT: string;
  /** Folder of the workspace. */
  SQUAD_ROOT: string;
}

export type Resolution =
  | {
      server: ResolvedServer;
      secrets: Secret[];
      /** Key of a server. It is equal for two servers with the same configuration and values. */
      key: string;
    }
  /** Names of variables that are not set or empty. An empty value would turn `Bearer ${TOKEN}` into `Bearer `. */
  | { missing: string[] }
  /** Why the server cannot be used with these values, as a clause; never contains a value. */
  | { fault: string };

/** Replaces the variables of a server. Each value stays one part of its text; no shell ever reads it. */
export function resolveServer(
  id: string,
  server: Server,
  { variables, roots }: { variables: Readonly<Record<string, string>>; roots: Roots },
): Resolution {
  const known: Readonly<Record<string, string>> = { ...variables, ...roots };
  const find = (name: string) => (Object.hasOwn(known, name) ? known[name] : undefined);
  const names = [...new Set(textsOf(server).flatMap(namesIn))];
  const missing = names.filter(name => !find(name));
  if (missing.length > 0) return { missing };
  const fill = (text: string) => substitute(text, name => find(name)!);
  const url = 'url' in server ? fillUrl(server.url, name => find(name)!) : null;
  if (url !== null && 'fault' in url) return { fault: `the url of ${id} ${url.fault}` };
  const resolved = resolvedServer(server, fill, url?.url ?? '', roots);
  const fault = faultOf(id, resolved);
  if (fault !== null) return { fault };
  const fromVariables = names
    .filter(name => !Object.hasOwn(roots, name) && !isOrdinaryVariable(name))
    .map(name => ({ name, value: find(name)! }));
  return {
    server: resolved,
    secrets: [
      ...fromVariables,
      ...(url?.hosts ?? []).filter(({ name }) => fromVariables.some(known => known.name === name)),
      ...literalSecrets(server),
      ...textsOf(resolved).flatMap(urlSecrets),
    ],
    key: hash('sha256', canonicalJson(resolved)),
  };
}

/** Every variable that the configuration uses, except the roots, sorted. */
export function variablesIn(config: McpConfig): string[] {
  const names = new Set(Object.values(config.servers).flatMap(textsOf).flatMap(namesIn));
  names.delete('WORKSPACE_ROOT');
  names.delete('SQUAD_ROOT');
  return [...names].sort();
}

/**
 * Hash of how a server is started or reached, without values of variables. Pins belong to this hash, so a new token
 * does not change them.
 */
export function sourceHash(server: Server): string {
  const source =
    'command' in server
      ? { type: 'stdio', command: server.command, args: server.args, cwd: server.cwd ?? null }
      : { type: server.type, url: server.url };
  return hash('sha256', canonicalJson(source));
}

/** Secrets in the file itself, found by the name of their header or variable, or as part of a URL. */
export function literalSecrets(server: Server): Secret[] {
  const values = 'command' in server ? server.env : server.headers;
  const looksSecret = 'command' in server ? looksSecretName : looksSecretHeader;
  const named = Object.entries(values).filter(([name]) => looksSecret(name));
  return [
    ...named.flatMap(([name, value]) => [
      { name, value },
      // In `Bearer abc` the scheme is not secret, and the token may appear without it.
      ...[...value.matchAll(/^\S+ (\S+)$/g)].map(([, token]) => ({ name, value: token! })),
    ]),
    ...textsOf(server).flatMap(urlSecrets),
  ].filter(({ value }) => namesIn(value).length === 0);
}

export function urlSecrets(text: string): Secret[] {
  const url = text.includes('://') ? URL.parse(text) : null;
  if (!url) return [];
  return [
    ...(url.password ? [{ name: 'password', value: percentDecoded(url.password) ?? url.password }] : []),
    ...[...url.searchParams]
      .filter(([name, value]) => looksSecretName(name) && value !== '')
      .map(([name, value]) => ({ name, value })),
  ];
}

/** Every text of a server that may contain variables. */
function textsOf(server: Server | ResolvedServer): string[] {
  if ('command' in server)
    return [
      server.command,
      ...server.args,
      ...Object.values(server.env),
      ...(server.cwd ? [server.cwd] : []),
    ];
  return [server.url, ...Object.values(server.headers)];
}

function resolvedServer(
  server: Server,
  fill: (text: string) => string,
  url: string,
  roots: Roots,
): ResolvedServer {
  const all = (record: Record<string, string>) =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name, fill(value)]));
  if (!('command' in server)) return { kind: server.type, url, headers: all(server.headers) };
  return {
    kind: 'stdio',
    command: fill(server.command),
    args: server.args.map(fill),
    cwd: posix.resolve(roots.SQUAD_ROOT, fill(server.cwd ?? '')),
    env: all(server.env),
  };
}

function faultOf(id: string, server: ResolvedServer): string | null {
  if (server.kind === 'stdio') {
    const pieces = [server.command, ...server.args, server.cwd, ...Object.values(server.env)];
    return pieces.some(piece => piece.includes('\0'))
      ? `the command, arguments, folder or environment of ${id} hold a NUL character`
      : null;
  }
  const url = URL.parse(server.url);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    return `the url of ${id} is not an http or https URL`;
  if (isRefusedHost(url.hostname)) return `the url of ${id} leads to an address that Squad never connects to`;
  // A line break in a header would start another header.
  return Object.values(server.headers).some(value => /[\r\n\0]/.test(value))
    ? `a header of ${id} has a line break or NUL character in its value`
    : null;
}

/** How to start or reach another MCP server, with all variables replaced. Contains secrets. */
export type ResolvedServer =
  | { kind: 'stdio'; command: string; args: string[]; cwd: string; env: Record<string, string> }
  | { kind: 'http' | 'sse'; url: string; headers: Record<string, string> };

const NAMES = new Set([
  ...['HOME', 'PATH', 'LANG', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR', 'TERM', 'TZ'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
]);
const PREFIXES = ['LC_', 'XDG_'];

/** The part of the environment that a server's process gets: variables that programs need to work, and no secrets of others. */
export function baseEnvironment(variables: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).filter(
      ([name]) => NAMES.has(name) || PREFIXES.some(prefix => name.startsWith(prefix)),
    ),
  );
}
