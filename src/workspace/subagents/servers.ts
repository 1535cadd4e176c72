import { isAbsolute } from 'node:path';
import { lintServer } from '../../core/gateway/lint-config.ts';
import { namesIn, substitute } from '../../core/gateway/variables.ts';
import { findExecutable } from '../../process/programs/find-executable.ts';
import { type OwnServers, Server, ServerId } from '../../schema/mcp-config.ts';
import type { SubagentServer } from '../../schema/subagent.ts';
import { type FileContext, normalizeVariables } from './findings.ts';

const DEFAULT_TIMEOUT_MS = 300_000;
const MIN_TIMEOUT_MS = 100;
const MAX_TIMEOUT_MS = 1_800_000;

/** Servers of the file for the gateway. Each run starts its own. Null if there are none. */
export function serversOf(
  given: Readonly<Record<string, SubagentServer>>,
  context: FileContext,
): OwnServers | null {
  const { env, findings } = context;
  const ids = serverIds(Object.keys(given));
  const servers: OwnServers['servers'] = {};
  const hidden: OwnServers['toolRestrictions'][string] = {};
  const startTimeouts: OwnServers['startTimeouts'] = {};
  for (const [name, { timeout, toolFilter, disabledTools, ...rest }] of Object.entries(given)) {
    const id = ids.get(name)!;
    const server = serverOf(name, { timeout, toolFilter, disabledTools, ...rest }, context);
    if (!server) continue;
    servers[id] = server;
    if (timeout !== undefined) startTimeouts[id] = server.timeout;
    if (toolFilter !== 'all' && disabledTools?.length) hidden[id] = { exclude: disabledTools };
    warnOfMissingProgram(name, server, context);
    const whenUnset = `\`squad mcp serve\` does not start: the server ${name} needs it`;
    for (const finding of lintServer(id, server, { roles: null, env }, whenUnset)) {
      const { level, path, message, suggestion, isLacking } = finding;
      const method = isLacking ? 'lacking' : level === 'error' ? 'error' : 'warn';
      findings[method](['mcpServers', name, ...path.slice(2)], message, { suggestion });
    }
  }
  const all = Object.values(given);
  if (all.length > 0 && all.every(({ type }) => type === 'builtin'))
    findings.error(
      ['mcpServers'],
      'every server here is a builtin of another program, so there would be no tools',
      { suggestion: 'Give a program as "command", or remove "mcpServers" if no tools are needed.' },
    );
  if (Object.keys(servers).length === 0) return null;
  return {
    servers,
    agentServers: {},
    shared: Object.keys(servers),
    toolRestrictions: Object.keys(hidden).length > 0 ? { '*': hidden } : {},
    argumentRules: [],
    startTimeouts,
  };
}

/**
 * Converts a server to the gateway's format. Null, with an error in the findings, if there is nothing to start or
 * connect to.
 */
function serverOf(name: string, given: SubagentServer, { folder, findings }: FileContext): Server | null {
  const path = ['mcpServers', name];
  // A wrong "type" was already reported, so the kind of the server is unknown.
  if (findings.isWrong(...path, 'type')) return null;
  if (given.type === 'builtin') {
    findings.warn([...path, 'type'], `Squad has no builtin server "${name}": its tools are missing`, {
      suggestion: 'Give a program that has such tools as "command".',
    });
    return null;
  }
  const isRemote =
    given.type === 'http' || given.type === 'sse' || (!given.type && !given.command && !!given.url);
  const key = isRemote ? 'url' : 'command';
  const needed = given[key];
  if (!needed) {
    if (findings.isWrong(...path, key) || (!given.type && findings.isWrong(...path, 'url'))) return null;
    findings.error(path, `the server "${name}" has no "${key}"`, {
      suggestion: isRemote ? 'Add "url".' : 'Add "command" (a program to start) or "type: http" and "url".',
    });
    return null;
  }
  warnOfOtherKind(given, isRemote, name, findings);
  const normalize = (text: string) => normalizeVariables(text, folder);
  const normalizeAll = (record: Record<string, string> = {}) =>
    Object.fromEntries(Object.entries(record).map(([each, value]) => [each, normalize(value)]));
  return Server.parse({
    tools: given.toolFilter === 'all' ? ['*'] : (given.enabledTools ?? ['*']),
    timeout: timeoutOf(given, name, findings),
    instance: 'per-agent',
    ...(isRemote
      ? { type: given.type ?? 'http', url: normalize(needed), headers: normalizeAll(given.headers) }
      : {
          ...{ type: 'stdio', command: normalize(needed), env: normalizeAll(given.env) },
          args: (given.args ?? []).map(normalize),
        }),
  });
}

const startsSubagent = ({ args = [] }: SubagentServer): boolean => args.slice(0, 2).join(' ') === 'mcp serve';

/** Warns about keys that belong to the other kind of server, and about `cpe`, whose runs Squad cannot manage. */
function warnOfOtherKind(
  given: SubagentServer,
  isRemote: boolean,
  name: string,
  findings: FileContext['findings'],
): void {
  const others = isRemote ? (['command', 'args', 'env'] as const) : (['url', 'headers'] as const);
  const kind = isRemote ? 'reached by its url' : 'a program that is started';
  for (const key of others)
    if (given[key] !== undefined)
      findings.warn(['mcpServers', name, key], `"${key}" has no effect: the server "${name}" is ${kind}`);
  if (given.command === 'cpe' && startsSubagent(given))
    findings.warn(
      ['mcpServers', name, 'command'],
      'this starts CPE, whose runs Squad cannot show, limit or stop one by one',
      { suggestion: 'With "command: squad" and the same arguments Squad serves that file.' },
    );
}

function timeoutOf(given: SubagentServer, name: string, findings: FileContext['findings']): number {
  // A server that starts a subagent gets the longest timeout, because a call takes as long as a task.
  if (given.timeout === undefined) return startsSubagent(given) ? MAX_TIMEOUT_MS : DEFAULT_TIMEOUT_MS;
  const wanted = Math.round(given.timeout * 1000);
  const used = Math.min(Math.max(wanted, MIN_TIMEOUT_MS), MAX_TIMEOUT_MS);
  if (used !== wanted)
    findings.warn(
      ['mcpServers', name, 'timeout'],
      `a call may take from 0.1 to ${MAX_TIMEOUT_MS / 1000} seconds: ${used / 1000} is used`,
    );
  return used;
}

/**
 * Warns about a server whose program is missing here. It is no error, because the program may exist on the machine
 * where the file is used.
 */
function warnOfMissingProgram(name: string, server: Server, { env, folder, findings }: FileContext): void {
  if (!('command' in server) || env.PATH === undefined) return;
  const isKnown = namesIn(server.command).every(variable => env[variable]);
  const command = substitute(server.command, variable => env[variable] ?? '');
  // A relative path depends on the client's folder, which is unknown here.
  const isElsewhere = command.includes('/') && !isAbsolute(command);
  if (!isKnown || isElsewhere) return;
  const { status } = findExecutable(command, { path: env.PATH, cwd: folder });
  if (status === 'found') return;
  const missing = isAbsolute(command) ? 'does not exist' : 'is not in PATH';
  findings.warn(
    ['mcpServers', name, 'command'],
    `the program "${command}" ${status === 'not_found' ? missing : 'is not executable'}`,
    { suggestion: `Install it, or write its path; until then the server "${name}" does not start.` },
  );
}

const MAX_ID_LENGTH = 24;

/**
 * Gives each server an id: its name if that is a valid id, otherwise one made from the name. Equal ids get a number.
 */
export function serverIds(names: readonly string[]): Map<string, string> {
  const ids = new Map<string, string>();
  const taken = new Set<string>();
  // Names that are valid ids come first, so that they keep their ids wherever they are in the file.
  const order = names.toSorted((one, other) => Number(other === idFor(other)) - Number(one === idFor(one)));
  for (const name of order) {
    const wanted = idFor(name);
    let id = wanted;
    for (let number = 2; taken.has(id); number++) id = numbered(wanted, number);
    taken.add(id);
    ids.set(name, id);
  }
  return ids;
}

function idFor(name: string): string {
  if (ServerId.safeParse(name).success) return name;
  const id = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, MAX_ID_LENGTH)
    .replace(/-+$/, '');
  // The id `squad` is reserved, because names of Squad's own tools begin with it.
  return id === '' ? 'server' : id === 'squad' ? 'squad-server' : id;
}

const numbered = (id: string, number: number): string =>
  `${id.slice(0, MAX_ID_LENGTH - 1 - String(number).length).replace(/-+$/, '')}-${number}`;
