import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { canonicalJson } from '../../base/json.ts';
import { isRefusedHost } from '../../base/network.ts';
import { percentDecoded } from '../../base/percent-decoded.ts';
import type { Secret } from '../../redaction/redactor.ts';
import type { McpConfig, Server } from '../../schema/mcp-config.ts';
import type { ResolvedServer } from './resolved-server.ts';
import { isOrdinaryVariable, looksSecretHeader, looksSecretName } from './secret-names.ts';
import { namesIn, substitute } from './substitution.ts';
import { fillUrl } from './url-variables.ts';

/** What Squad itself knows of a run: no secrets, and nobody's environment can say otherwise. */
export interface Roots {
  /** The run's own checkout. */
  WORKSPACE_ROOT: string;
  /** The workspace. */
  SQUAD_ROOT: string;
}

export type Resolution =
  | {
      server: ResolvedServer;
      secrets: Secret[];
      /** The same for two servers that are the same thing with the same values. */
      key: string;
    }
  /** Variables that are not set or empty: an empty one would make `Bearer ` of `Bearer ${TOKEN}`. */
  | { missing: string[] }
  /** Why it cannot be used now that the values are in place, in a clause; says nothing of the values. */
  | { fault: string };

/** Fills in the variables of a server. Each value is one piece of what it stands in; none is ever read by a shell. */
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
    key: sha256(canonicalJson(resolved)),
  };
}

/** Every variable the configuration uses, but for the roots, each once, sorted. */
export function variablesIn(config: McpConfig): string[] {
  const names = new Set(Object.values(config.servers).flatMap(textsOf).flatMap(namesIn));
  names.delete('WORKSPACE_ROOT');
  names.delete('SQUAD_ROOT');
  return [...names].sort();
}

/** How a server is started or reached, variables not filled in: what pins belong to. A new token makes it no other server. */
export function sourceHash(server: Server): string {
  const { type } = server;
  return sha256(
    canonicalJson(
      'command' in server
        ? { type: 'stdio', command: server.command, args: server.args, cwd: server.cwd ?? null }
        : { type, url: server.url },
    ),
  );
}

/** Secrets that stand in the file itself: by the name of their header or variable, or as part of a URL. */
export function literalSecrets(server: Server): Secret[] {
  const values = 'command' in server ? server.env : server.headers;
  const looksSecret = 'command' in server ? looksSecretName : looksSecretHeader;
  const named = Object.entries(values).filter(([name]) => looksSecret(name));
  return [
    ...named.flatMap(([name, value]) => [
      { name, value },
      // `Bearer abc`: the scheme is no secret, and what follows may turn up without it.
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

/** Every text of a server in which variables count. */
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
  if (isRefusedHost(url.hostname)) return `the url of ${id} leads to an address that is never connected to`;
  // A line break in a header would be the beginning of another one.
  return Object.values(server.headers).some(value => /[\r\n\0]/.test(value))
    ? `a header of ${id} has a line break or NUL character in its value`
    : null;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
