import { isAbsolute } from 'node:path';
import { lintServer } from '../../core/gateway/lint-server.ts';
import { namesIn, substitute } from '../../core/gateway/variables.ts';
import { findExecutable } from '../../process/programs/find-executable.ts';
import { type OwnServers, Server, ServerId } from '../../schema/mcp-config.ts';
import { SubagentModel, SubagentServer } from '../../schema/subagent.ts';
import { SUBAGENT_MODEL_TYPES } from '../../schema/subagent-names.ts';
import { type CheckedPart, checkPart, type Findings, type Path } from './findings.ts';
import type { ListedModel } from './model.ts';
import { inOneForm, type Variables } from './variables.ts';

/** A program that is not on this machine may be on the one where the file is used. */
function warnOfMissingProgram(
  name: string,
  server: Server,
  { env, folder }: Variables,
  findings: Findings,
): void {
  if (!('command' in server) || env.PATH === undefined) return;
  const isKnown = namesIn(server.command).every(variable => env[variable]);
  const command = substitute(server.command, variable => env[variable] ?? '');
  // Relative to the client's folder, which is not known here.
  const isElsewhere = command.includes('/') && !isAbsolute(command);
  if (!isKnown || isElsewhere) return;
  const { status } = findExecutable(command, { path: env.PATH, cwd: folder });
  if (status === 'found') return;
  const where = isAbsolute(command) ? 'is not there' : 'is not in PATH';
  findings.warn(
    ['mcpServers', name, 'command'],
    `the program "${command}" ${status === 'not_found' ? where : 'is not one that can be started'}`,
    { suggestion: `Install it, or write its path; until then the server "${name}" does not start.` },
  );
}

const DEFAULT_TIMEOUT_MS = 300_000;
const MIN_MS = 100;
const MAX_MS = 1_800_000;

/** One server in the gateway's words; null, and said, when there is nothing to start or reach. */
function serverOf(
  name: string,
  { part: given, wrong }: ListedServer,
  variables: Variables,
  findings: Findings,
): Server | null {
  const path = ['mcpServers', name];
  // Of which kind it should be, nobody knows.
  if (wrong.has('type')) return null;
  if (given.type === 'builtin') {
    findings.warn(
      [...path, 'type'],
      `the builtin server "${name}" is not there in Squad: its tools are missing`,
      {
        suggestion: 'Give a program that has such tools as "command".',
      },
    );
    return null;
  }
  const isRemote =
    given.type === 'http' || given.type === 'sse' || (!given.type && !given.command && !!given.url);
  const needed = isRemote ? given.url : given.command;
  if (!needed) {
    const key = isRemote ? 'url' : 'command';
    if (wrong.has(key) || (!given.type && wrong.has('url'))) return null;
    findings.error(path, `the server "${name}" has no ${key === 'url' ? '"url"' : '"command"'}`, {
      suggestion: isRemote
        ? `Add "url" to it.`
        : `Add "command" (a program to start) or "type: http" and "url".`,
    });
    return null;
  }
  warnOfOtherKind(given, isRemote, name, findings);
  const all = (record: Record<string, string> = {}) =>
    Object.fromEntries(Object.entries(record).map(([key, value]) => [key, inOneForm(value, variables)]));
  const common = {
    tools: given.toolFilter === 'all' ? ['*'] : (given.enabledTools ?? ['*']),
    timeout: timeoutOf(given, name, findings),
    instance: 'per-agent',
  };
  return Server.parse(
    isRemote
      ? {
          ...common,
          type: given.type ?? 'http',
          url: inOneForm(needed, variables),
          headers: all(given.headers),
        }
      : {
          ...common,
          ...{ type: 'stdio', command: inOneForm(needed, variables), env: all(given.env) },
          args: (given.args ?? []).map(arg => inOneForm(arg, variables)),
        },
  );
}

/** What belongs to the other kind of server has no effect; and `cpe` serves files of this kind itself. */
function warnOfOtherKind(
  given: Partial<SubagentServer>,
  isRemote: boolean,
  name: string,
  findings: Findings,
): void {
  const others = isRemote ? (['command', 'args', 'env'] as const) : (['url', 'headers'] as const);
  for (const key of others)
    if (given[key] !== undefined)
      findings.warn(
        ['mcpServers', name, key],
        `"${key}" has no effect: the server "${name}" is ${isRemote ? 'reached by its url' : 'a program that is started'}`,
      );
  if (given.command === 'cpe' && given.args?.slice(0, 2).join(' ') === 'mcp serve')
    findings.warn(
      ['mcpServers', name, 'command'],
      'this starts CPE, whose runs Squad cannot show, limit or stop one by one',
      {
        suggestion: 'With "command: squad" and the same arguments Squad serves that file.',
      },
    );
}

function timeoutOf(
  { timeout, args = [] }: Partial<SubagentServer>,
  name: string,
  findings: Findings,
): number {
  // A subagent takes as long as a task does.
  if (timeout === undefined) return args.slice(0, 2).join(' ') === 'mcp serve' ? MAX_MS : DEFAULT_TIMEOUT_MS;
  const wanted = Math.round(timeout * 1000);
  const kept = Math.min(Math.max(wanted, MIN_MS), MAX_MS);
  if (kept !== wanted)
    findings.warn(
      ['mcpServers', name, 'timeout'],
      `a call may take from 0.1 to ${MAX_MS / 1000} seconds: ${kept / 1000} are taken`,
    );
  return kept;
}

const MAX_ID_LENGTH = 24;

/** An id for each name of a server: the name itself where it can be one. Names that would be the same are told apart by numbers. */
export function serverIds(names: readonly string[]): Map<string, string> {
  const ids = new Map<string, string>();
  const taken = new Set<string>();
  // Who has a sound id keeps it, wherever in the file it stands.
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
  // Squad's own tools begin with its name.
  return id === '' ? 'server' : id === 'squad' ? 'squad-server' : id;
}

const numbered = (id: string, number: number): string =>
  `${id.slice(0, MAX_ID_LENGTH - 1 - String(number).length).replace(/-+$/, '')}-${number}`;

/** Its servers as the gateway knows them, every one for each run alone; null: it has none. */
export function serversOf(
  listed: ReadonlyMap<string, ListedServer>,
  variables: Variables,
  findings: Findings,
): OwnServers | null {
  const ids = serverIds([...listed.keys()]);
  const servers: OwnServers['servers'] = {};
  const hidden: OwnServers['toolRestrictions'][string] = {};
  const startTimeouts: OwnServers['startTimeouts'] = {};
  for (const [name, each] of listed) {
    const id = ids.get(name)!;
    const given = each.part;
    const server = serverOf(name, each, variables, findings);
    if (!server) continue;
    servers[id] = server;
    if (given.timeout !== undefined) startTimeouts[id] = server.timeout;
    warnOfMissingProgram(name, server, variables, findings);
    if (given.toolFilter !== 'all' && given.disabledTools?.length)
      hidden[id] = { exclude: given.disabledTools };
    const known = { roles: null, env: variables.env };
    const whenUnset = `\`squad mcp serve\` does not start: the server ${name} needs it`;
    for (const finding of lintServer(id, server, known, whenUnset)) {
      const { level, path, message, suggestion, isLacking } = finding;
      const at = ['mcpServers', name, ...path.slice(2)];
      if (isLacking) findings.lacking(at, message, { suggestion });
      else if (level === 'error') findings.error(at, message, { suggestion });
      else findings.warn(at, message, { suggestion });
    }
  }
  const kinds = [...listed.values()];
  if (kinds.length > 0 && kinds.every(({ part }) => part.type === 'builtin'))
    findings.error(
      ['mcpServers'],
      'every server here is a builtin of another program, so there would be no tools',
      {
        suggestion: 'Give a program as "command", or take "mcpServers" out if it needs no tools.',
      },
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

/** Every model that is one, as far as it has its form, and what each of them is called. */
export function listedModels(given: unknown, findings: Findings): { models: ListedModel[]; refs: string[] } {
  const list = given ?? [];
  if (!Array.isArray(list)) {
    findings.error(['models'], '"models" must be a list, each model after a "-"');
    return { models: [], refs: [] };
  }
  const refs: string[] = [];
  const models = list.flatMap((each: unknown, index): ListedModel[] => {
    const path = ['models', index];
    const ref = (each as { ref?: unknown } | null)?.ref;
    if (typeof ref === 'string') {
      if (refs.includes(ref)) findings.error([...path, 'ref'], `another model has the ref "${ref}" already`);
      refs.push(ref);
    }
    const checked = checkPart(SubagentModel, inSmallLetters(each, path, findings), path, findings);
    return checked ? [{ model: checked.part, path }] : [];
  });
  return { models, refs };
}

/** `type: OpenAI` is understood, and editors would not take it. */
function inSmallLetters(model: unknown, path: Path, findings: Findings): unknown {
  const type = (model as { type?: unknown } | null)?.type;
  if (typeof type !== 'string') return model;
  const small = type.toLowerCase();
  if (small === type || !(SUBAGENT_MODEL_TYPES as readonly string[]).includes(small)) return model;
  findings.warn([...path, 'type'], `"${type}" is taken for "${small}"`, { suggestion: `Write ${small}.` });
  return { ...(model as object), type: small };
}

type ListedServer = CheckedPart<SubagentServer>;

/** Every server that is one, as far as it has its form, by its name in the file. */
export function listedServers(given: unknown, findings: Findings): Map<string, ListedServer> {
  const record = given ?? {};
  if (typeof record !== 'object' || Array.isArray(record)) {
    findings.error(
      ['mcpServers'],
      '"mcpServers" must have a name for each server, and under it how to start it',
    );
    return new Map();
  }
  return new Map(
    Object.entries(record).flatMap(([name, each]): [string, ListedServer][] => {
      const path = ['mcpServers', name];
      if (name === '' || name === '__proto__') {
        findings.error(path, `${JSON.stringify(name)} cannot be the name of a server`, {
          suggestion: 'Take another: its tools are named after it.',
        });
        return [];
      }
      const checked = checkPart(SubagentServer, each ?? {}, path, findings);
      return checked ? [[name, checked]] : [];
    }),
  );
}
