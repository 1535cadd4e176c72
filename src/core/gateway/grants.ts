import { nearest } from '../../base/text.ts';
import {
  type ArgumentRule,
  type McpConfig,
  type Restriction,
  type Server,
  SQUAD_ITSELF,
} from '../../schema/mcp-config.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { PendingChange } from '../ports/gateway.ts';
import { brokenRule } from './argument-rules.ts';
import {
  type DanglingReference,
  danglingReferences,
  EVERYBODY,
  hidesFrom,
  isExact,
  NO_FACTS,
  runsOf,
} from './dangling-references.ts';
import { hashOf } from './definitions.ts';
import { isMeant, matchesWildcard, meansAny, names } from './tool-names.ts';
import type { ResolvedServer } from './variables.ts';

/**
 * Rule for names. A name is allowed if each of the lists in `only` contains it. Without lists every name is allowed.
 */
interface NameRule {
  only: readonly ReadonlySet<string>[];
  /** Excluded names. `*` matches any characters: only lists that exclude may contain patterns. */
  except: ReadonlySet<string>;
}

/** Tools, prompts and resources of one server that one role may use. */
export interface ServerGrant {
  server: string;
  tools: NameRule;
  resources: NameRule;
  prompts: NameRule;
  argumentRules: readonly ArgumentRule[];
  /**
   * Working directory of the server's process, to which relative paths refer. Null if the server is remote, or the
   * folder is not known yet.
   */
  folder: string | null;
  /** All known tools of the server, by the server's own names. Null while unknown. */
  known: ReadonlySet<string> | null;
  /** Excluding entries that match none of the known tools. While there are any, every tool stays hidden. */
  unmatched: readonly string[];
  /**
   * Restrictions for servers or roles that do not exist and may be meant for this server. While there are any, every
   * tool stays hidden.
   */
  dangling: readonly DanglingReference[];
}

/**
 * The grants of a role, in the order of the configuration. `shared`, the role's line in `agentServers`, or the server's
 * name in the role's frontmatter give a whole server; an entry `server/tool` in the frontmatter gives one tool of a
 * server that is not given otherwise. Each further list can only remove tools.
 */
export function grantsOf(
  config: McpConfig,
  roleId: string | null,
  roleMcp: readonly string[],
  facts = NO_FACTS,
): ServerGrant[] {
  const whole = wholeServers(config, roleId, roleMcp);
  const single = singleTools(roleMcp);
  const restrictions = [EVERYBODY, roleId].map(who => own(config.toolRestrictions, who) ?? {});
  const dangling = danglingReferences(config, facts);
  return Object.entries(config.servers).flatMap(([id, server]) => {
    const tools = single.get(id);
    if (!whole.has(id) && !tools) return [];
    const ofServer = restrictions.flatMap(each => own(each, id) ?? []);
    const granted = grant(config, id, server, whole.has(id) ? null : tools!, ofServer, roleId);
    return [{ ...granted, dangling: dangling.filter(each => hidesFrom(each, roleId, id)) }];
  });
}

/** Servers that the configuration gives to the role but that are invalid in the file. */
export function disabledFor(
  config: McpConfig,
  roleId: string | null,
  roleMcp: readonly string[],
): { server: string; fault: string }[] {
  const whole = wholeServers(config, roleId, roleMcp);
  const single = singleTools(roleMcp);
  return Object.entries(config.disabled ?? {}).flatMap(([server, { fault }]) =>
    whole.has(server) || single.has(server) ? [{ server, fault }] : [],
  );
}

/** Updates the grant when the tools of the server are known. */
export function withKnownTools(grant: ServerGrant, known: ReadonlySet<string> | null): ServerGrant {
  if (known === null) return grant;
  const ofRules = grant.argumentRules.flatMap(rule => rule.tool.filter(isExact));
  const unmatched = [...grant.tools.except, ...ofRules].filter(
    entry => !meansAny(entry, grant.server, known, true),
  );
  return { ...grant, known, unmatched };
}

/** Updates the grant when the server's variables are filled in. */
export const withFolderOf = (grant: ServerGrant, server: ResolvedServer): ServerGrant => ({
  ...grant,
  folder: server.kind === 'stdio' ? server.cwd : null,
});

/** Replaces `${WORKSPACE_ROOT}` and `${SQUAD_ROOT}` in the folders of argument rules by the run's own folders. */
export function withRoots(
  grants: readonly ServerGrant[],
  roots: { WORKSPACE_ROOT: string; SQUAD_ROOT: string },
): ServerGrant[] {
  const place = (folder: string) =>
    folder.replace(/\$\{(WORKSPACE_ROOT|SQUAD_ROOT)\}/g, (_, name: keyof typeof roots) => roots[name]);
  return grants.map(grant => ({
    ...grant,
    argumentRules: grant.argumentRules.map(rule =>
      rule.under ? { ...rule, under: rule.under.map(place) } : rule,
    ),
  }));
}

function grant(
  config: McpConfig,
  id: string,
  server: Server,
  /** Null for all tools of the server. */
  tools: readonly string[] | null,
  restrictions: readonly Restriction[],
  roleId: string | null,
): Omit<ServerGrant, 'dangling'> {
  const include = restrictions.flatMap(each => ('include' in each ? [each.include] : []));
  const exclude = restrictions.flatMap(each => ('exclude' in each ? each.exclude : []));
  const others = tools === null ? [] : [[]];
  return {
    server: id,
    tools: rule([server.tools, ...(tools === null ? [] : [tools]), ...include], exclude),
    resources: rule([server.resources, ...others]),
    prompts: rule([server.prompts, ...others]),
    argumentRules: config.argumentRules.filter(
      rule => rule.server === id && rule.role.some(role => matchesWildcard(role, roleId ?? '')),
    ),
    folder: null,
    known: null,
    unmatched: [],
  };
}

/** Servers that the role has completely. */
const wholeServers = (
  { shared, agentServers }: McpConfig,
  roleId: string | null,
  roleMcp: readonly string[],
): ReadonlySet<string> =>
  new Set([
    ...shared,
    ...(own(agentServers, roleId) ?? []),
    ...roleMcp.filter(entry => !entry.includes('/')),
  ]);

function rule(lists: readonly (readonly string[])[], exclude: readonly string[] = []): NameRule {
  return {
    only: lists.filter(list => !list.includes('*')).map(list => new Set(list)),
    except: new Set(exclude),
  };
}

function singleTools(roleMcp: readonly string[]): Map<string, string[]> {
  const tools = new Map<string, string[]>();
  for (const entry of roleMcp) {
    const slash = entry.indexOf('/');
    if (slash < 0) continue;
    const server = entry.slice(0, slash);
    tools.set(server, [...(tools.get(server) ?? []), entry.slice(slash + 1)]);
  }
  return tools;
}

/** The value of a key from a file. Undefined for inherited properties. */
export function own<T>(record: Readonly<Record<string, T>>, key: string | null): T | undefined {
  return key !== null && Object.hasOwn(record, key) ? record[key] : undefined;
}

/** A tool, resource or prompt that a run wants to see or use, by the server's own name. */
export interface Thing {
  kind: 'tool' | 'resource' | 'resource_template' | 'prompt';
  server: string;
  /** Name of a tool or prompt, URI of a resource, or URI template. */
  name: string;
  isApproved: boolean;
  /** Arguments of a call. Absent for a list, because lists do not check arguments. */
  args?: unknown;
}

export type Decision =
  | { allowed: true }
  | {
      allowed: false;
      reason: 'server' | 'not_listed' | 'excluded' | 'unmatched' | 'not_approved' | 'argument';
      /** The check of an argument rule that failed: `allow`, `deny`, `under` or `maxLength`. */
      rule?: string;
      /** Name of the argument in the rule, never its value. */
      argument?: string;
    };

/** Whether these grants allow a run to see the thing, or to call it with these arguments. The default is to deny. */
export function decide(
  grants: readonly ServerGrant[],
  thing: Thing,
  { workspaceRoot }: { workspaceRoot: string },
): Decision {
  const grant = grants.find(({ server }) => server === thing.server);
  if (!grant) return { allowed: false, reason: 'server' };
  const rule = ruleFor(grant, thing.kind);
  if (!rule.only.every(list => isIn(list, grant, thing))) return { allowed: false, reason: 'not_listed' };
  if (isExcluded(rule, thing)) return { allowed: false, reason: 'excluded' };
  if (thing.kind === 'tool' && grant.unmatched.length + grant.dangling.length > 0)
    return { allowed: false, reason: 'unmatched' };
  if (!thing.isApproved) return { allowed: false, reason: 'not_approved' };
  const broken =
    thing.kind === 'tool' && Object.hasOwn(thing, 'args')
      ? brokenRule(grant.argumentRules, thing.name, thing.args, { workspaceRoot, serverFolder: grant.folder })
      : null;
  return broken ? { allowed: false, reason: 'argument', ...broken } : { allowed: true };
}

function ruleFor(grant: ServerGrant, kind: Thing['kind']): NameRule {
  if (kind === 'tool') return grant.tools;
  return kind === 'prompt' ? grant.prompts : grant.resources;
}

/** Only tools have several names; a resource has only its URI. */
const isIn = (list: ReadonlySet<string>, { known }: ServerGrant, { kind, server, name }: Thing): boolean =>
  kind === 'tool' || kind === 'prompt'
    ? names(list, server, name, kind === 'tool' ? known : null)
    : list.has(name);

function isExcluded({ except }: NameRule, { server, name }: Thing): boolean {
  for (const entry of except) if (isMeant(entry, server, name)) return true;
  return false;
}

/** A name of a tool in one of the lists of a configuration. */
export interface ListEntry {
  server: string;
  entry: string;
  /** Place of the entry in the file: `toolRestrictions.coder.github.exclude`. */
  where: string;
  /**
   * True if the entry hides tools or checks their arguments. If such an entry matches no tool, a call may be allowed
   * that should be refused.
   */
  takesAway: boolean;
}

/** Every list entry that applies to the role `who`, or without `who` to any role. */
export function listEntries(
  config: McpConfig,
  server: string,
  who?: { roleId: string | null; roleMcp: readonly string[] },
): ListEntry[] {
  const counts = (roles: readonly string[]) =>
    who === undefined || roles.some(role => matchesWildcard(role, who.roleId ?? ''));
  const at = (where: string, entries: readonly string[], takesAway: boolean): ListEntry[] =>
    entries.map(entry => ({ server, entry, where, takesAway }));
  return [
    ...at(`servers.${server}.tools`, config.servers[server]?.tools ?? [], false),
    ...Object.entries(config.toolRestrictions).flatMap(([role, servers]) => {
      const restriction = own(servers, server);
      if (restriction === undefined || !(role === EVERYBODY || who === undefined || role === who.roleId))
        return [];
      const where = `toolRestrictions.${role}.${server}`;
      return 'include' in restriction
        ? at(`${where}.include`, restriction.include, false)
        : at(`${where}.exclude`, restriction.exclude, true);
    }),
    ...config.argumentRules.flatMap((rule, index) =>
      rule.server === server && counts(rule.role)
        ? at(`argumentRules[${index}].tool`, rule.tool.filter(isExact), true)
        : [],
    ),
    ...(who?.roleMcp ?? [])
      .filter(entry => entry.startsWith(`${server}/`))
      .flatMap(entry => at('mcp of the role file', [entry.slice(server.length + 1)], false)),
  ];
}

/** The entries that match none of the known tools of the server. */
export const unmatchedEntries = (
  entries: readonly ListEntry[],
  known: ReadonlySet<string>,
): readonly ListEntry[] =>
  entries.filter(({ server, entry, takesAway }) => !meansAny(entry, server, known, takesAway));

/** Entries that match no tool and therefore hide all tools of their server, as changes that the user can confirm. */
export function unmatchedChanges(
  config: McpConfig,
  server: string,
  known: ReadonlySet<string>,
  now: number,
): PendingChange[] {
  const places = Map.groupBy(
    unmatchedEntries(listEntries(config, server), known).filter(({ takesAway }) => takesAway),
    ({ entry }) => entry,
  );
  return [...places].map(([tool, entries]) => ({
    server,
    tool,
    kind: 'unmatched',
    hash: hashOf({ name: tool }),
    seenAt: now,
    diff: [
      ...new Set(entries.map(({ where }) => ` ${where} names it, and ${server} has no such tool.`)),
      ` Its tools: ${[...known].sort().join(', ') || 'none'}`,
    ],
  }));
}

/** Note for the result of a run. */
export function unmatchedNote(
  { server, entry, where, takesAway }: ListEntry,
  known: Iterable<string>,
  roleId: string | null,
): string {
  const near = nearest(entry, known).map(name => `"${name}"`);
  return [
    `The MCP server ${server} has no tool "${entry}", which ${where} names.`,
    ...(near.length > 0 ? [`Did you mean ${near.join(' or ')}?`] : []),
    ...(takesAway
      ? [
          `The tools of ${server} stay hidden from ${runsOf(roleId)} until you correct the name in .squad/mcp-config.json, or confirm it with \`squad mcp approve ${shellWord(`${server}/${entry}`)}\`.`,
        ]
      : []),
  ].join(' ');
}

/** Notes for the result of a run about servers that the configuration gives to its role but that do not exist. */
export function unknownServerNotes(
  { servers, disabled = {}, shared, agentServers }: McpConfig,
  roleId: string | null,
): string[] {
  const ofRole = own(agentServers, roleId) ?? [];
  return [
    ...shared.map(id => ({ id, where: 'shared' })),
    ...ofRole.map(id => ({ id, where: `agentServers.${roleId}` })),
  ].flatMap(({ id, where }) => {
    if (Object.hasOwn(servers, id) || Object.hasOwn(disabled, id) || id === SQUAD_ITSELF) return [];
    const [near] = nearest(id, Object.keys(servers)).map(name => ` Did you mean "${name}"?`);
    return [`There is no MCP server "${id}", which ${where} names.${near ?? ''}`];
  });
}
