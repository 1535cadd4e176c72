import type { ArgumentRule, McpConfig, Restriction, Server } from '../../schema/mcp-config.ts';
import {
  type DanglingReference,
  danglingReferences,
  EVERYBODY,
  hidesFrom,
  isExact,
  NO_FACTS,
} from './dangling-references.ts';
import type { ResolvedServer } from './resolved-server.ts';
import { meansAny } from './tool-names.ts';
import { matchesWildcard } from './wildcard.ts';

/** Names that may be used: those in every one of the lists. No list lets everything through. */
export interface NameRule {
  only: readonly ReadonlySet<string>[];
  /** May hold `*` for any run of characters: what takes away may reach far, what gives names each thing. */
  except: ReadonlySet<string>;
}

/** What one role has of one server. */
export interface ServerGrant {
  server: string;
  tools: NameRule;
  resources: NameRule;
  prompts: NameRule;
  argumentRules: readonly ArgumentRule[];
  /** Where the server's process works, which is where it takes relative paths from. Null: it is elsewhere, or not known yet. */
  folder: string | null;
  /** All tools the server is known to have, by its own names; null while nobody knows. */
  known: ReadonlySet<string> | null;
  /** Entries that take tools away and mean none of the known ones. While there are any, every tool stays hidden. */
  unmatched: readonly string[];
  /** Restrictions for servers or roles that do not exist and may be meant for this one. While there are any, every tool stays hidden. */
  dangling: readonly DanglingReference[];
}

/**
 * What a role has, in the order of the configuration. A server is given as a whole by `shared`, by the role's line in
 * `agentServers` or by its name in the role's frontmatter; an entry `server/tool` there gives that tool of a server that is
 * not given otherwise. Lists only ever take away from each other.
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

/** Servers that the role is given and cannot have, because they are wrong in the file. */
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

/** The grant once it is known which tools the server has. */
export function withKnownTools(grant: ServerGrant, known: ReadonlySet<string> | null): ServerGrant {
  if (known === null) return grant;
  const ofRules = grant.argumentRules.flatMap(rule => rule.tool.filter(isExact));
  const unmatched = [...grant.tools.except, ...ofRules].filter(
    entry => !meansAny(entry, grant.server, known, true),
  );
  return { ...grant, known, unmatched };
}

/** The grant of a server of which it is known how it is started or reached. */
export const withFolderOf = (grant: ServerGrant, server: ResolvedServer): ServerGrant => ({
  ...grant,
  folder: server.kind === 'stdio' ? server.cwd : null,
});

/** The grants with the folders of their rules in place: nothing else knows what `${WORKSPACE_ROOT}` is for this run. */
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
  /** Null: the server as a whole. */
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

/** Servers that the role has without a list of tools. */
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

/** Names come from files: one that every object has inherited is none. */
function own<T>(record: Readonly<Record<string, T>>, key: string | null): T | undefined {
  return key !== null && Object.hasOwn(record, key) ? record[key] : undefined;
}
