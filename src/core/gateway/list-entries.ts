import { nearest } from '../../base/nearest.ts';
import { type McpConfig, SQUAD_ITSELF } from '../../schema/mcp-config.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { PendingChange } from '../ports/gateway.ts';
import { EVERYBODY, isExact, runsOf } from './dangling-references.ts';
import { hashOf } from './definitions.ts';
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

/** For the result of a run: servers that the configuration gives to its role and that do not exist. */
export function unknownServerNotes(
  { servers, disabled = {}, shared, agentServers }: McpConfig,
  roleId: string | null,
): string[] {
  const ofRole = roleId !== null && Object.hasOwn(agentServers, roleId) ? agentServers[roleId]! : [];
  return [
    ...shared.map(id => ({ id, where: 'shared' })),
    ...ofRole.map(id => ({ id, where: `agentServers.${roleId}` })),
  ].flatMap(({ id, where }) => {
    if (Object.hasOwn(servers, id) || Object.hasOwn(disabled, id) || id === SQUAD_ITSELF) return [];
    const [near] = nearest(id, Object.keys(servers)).map(name => ` Did you mean "${name}"?`);
    return [`There is no MCP server "${id}", which ${where} names.${near ?? ''}`];
  });
}
