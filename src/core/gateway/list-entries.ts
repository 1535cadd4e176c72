import { type McpConfig, SQUAD_ITSELF } from '../../schema/mcp-config.ts';
import { nearest } from '../nearest.ts';
import type { PendingChange } from '../ports/gateway.ts';
import { hashOf } from './definitions.ts';
import { EVERYBODY, isExact } from './grants.ts';
import { meansAny } from './tool-names.ts';
import { matchesWildcard } from './wildcard.ts';

/** A name of a tool in one of the lists of a configuration. */
export interface ListEntry {
  server: string;
  entry: string;
  /** Where it stands: `toolRestrictions.coder.github.exclude`. */
  where: string;
  /** It hides tools or checks their arguments. If no tool is meant, something is open that should not be. */
  takesAway: boolean;
}

/** Every name that counts for this role, or, without a role, for anybody. */
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
      const restriction = Object.hasOwn(servers, server) ? servers[server]! : null;
      if (restriction === null || !(role === EVERYBODY || who === undefined || role === who.roleId))
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

/** The entries that mean none of the tools that the server is known to have. */
export const unmatchedEntries = (
  entries: readonly ListEntry[],
  known: ReadonlySet<string>,
): readonly ListEntry[] =>
  entries.filter(({ server, entry, takesAway }) => !meansAny(entry, server, known, takesAway));

/** Entries because of which the tools of a server are hidden, as something to confirm. */
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

/** For the result of a run. */
export function unmatchedNote(
  { server, entry, where, takesAway }: ListEntry,
  known: Iterable<string>,
): string {
  const near = nearest(entry, known).map(name => `"${name}"`);
  return [
    `The MCP server ${server} has no tool "${entry}", which ${where} names.`,
    ...(near.length > 0 ? [`Did you mean ${near.join(' or ')}?`] : []),
    ...(takesAway
      ? [
          `The tools of ${server} stay hidden until the name is corrected, or confirmed by \`squad mcp approve\`.`,
        ]
      : []),
  ].join(' ');
}

/** For the result of a run: what a configuration says for its role about servers that it does not have. */
export function unknownServerNotes(config: McpConfig, roleId: string | null): string[] {
  const { servers, disabled = {}, shared, agentServers, toolRestrictions, argumentRules } = config;
  const own = <T>(record: Readonly<Record<string, T>>, key: string | null): T | undefined =>
    key !== null && Object.hasOwn(record, key) ? record[key] : undefined;
  const given = [
    ...shared.map(id => ({ id, where: 'shared' })),
    ...(own(agentServers, roleId) ?? []).map(id => ({ id, where: `agentServers.${roleId}` })),
  ];
  const restricted = [
    ...[EVERYBODY, roleId].flatMap(role =>
      Object.keys(own(toolRestrictions, role) ?? {}).map(id => ({ id, where: `toolRestrictions.${role}` })),
    ),
    ...argumentRules.flatMap(({ server, role }, index) =>
      role.some(each => matchesWildcard(each, roleId ?? ''))
        ? [{ id: server, where: `argumentRules[${index}]` }]
        : [],
    ),
  ];
  const noteOf = ({ id, where }: { id: string; where: string }, effect: string): string[] => {
    if (Object.hasOwn(servers, id) || Object.hasOwn(disabled, id) || id === SQUAD_ITSELF) return [];
    const near = nearest(id, Object.keys(servers)).map(name => ` Did you mean "${name}"?`);
    return [`There is no MCP server "${id}", which ${where} names.${near[0] ?? ''}${effect}`];
  };
  return [
    ...given.flatMap(each => noteOf(each, '')),
    ...restricted.flatMap(each => noteOf(each, ' Until it is corrected, this restricts nothing.')),
  ];
}
