import { type McpConfig, type Restriction, SQUAD_ITSELF } from '../../schema/mcp-config.ts';
import {
  type ConfigFinding,
  type ConfigPath,
  error,
  type KnownToLint,
  type RoleServers,
  warning,
} from './config-finding.ts';
import { EVERYBODY, isExact } from './dangling-references.ts';
import { own } from './grants.ts';
import { lintServer, suggestName, unknownTools } from './lint-server.ts';
import { isMeant, meansAny } from './tool-names.ts';

/** Finds mistakes and likely mistakes in a configuration that can be read. A finding never holds the value of a variable. */
export function lintMcpConfig(config: McpConfig, known: KnownToLint): ConfigFinding[] {
  const server = (id: string, path: ConfigPath) => unknownServer(config, id, path);
  return [
    ...Object.entries(config.servers).flatMap(([id, each]) => lintServer(id, each, known)),
    ...config.shared.flatMap((id, index) => server(id, ['shared', index])),
    ...Object.entries(config.agentServers).flatMap(([role, ids]) => [
      ...unknownRole(known, role, ['agentServers', role]),
      ...ids.flatMap((id, index) => server(id, ['agentServers', role, index])),
    ]),
    ...Object.entries(config.toolRestrictions).flatMap(([role, servers]) => [
      ...(role === EVERYBODY ? [] : unknownRole(known, role, ['toolRestrictions', role])),
      ...Object.entries(servers).flatMap(([id, restriction]) =>
        lintRestriction(config, known, role, id, restriction),
      ),
    ]),
    ...config.argumentRules.flatMap((rule, index) => lintRule(config, known, rule, ['argumentRules', index])),
    ...unusedServers(config, known),
  ];
}

/** Something a role file names under `mcp` that does not exist. */
export interface RoleFinding {
  file: string;
  message: string;
  suggestion?: string;
}

export function lintRoleFiles(
  { servers, disabled = {} }: Pick<McpConfig, 'servers' | 'disabled'>,
  roleFiles: readonly RoleServers[],
  tools: NonNullable<KnownToLint['tools']>,
): RoleFinding[] {
  return roleFiles.flatMap(({ file, mcp }) =>
    mcp.flatMap((entry): RoleFinding[] => {
      const server = serverIn(entry);
      // `squad/…` are Squad's own tools.
      if (server === 'squad' || Object.hasOwn(disabled, server)) return [];
      if (!Object.hasOwn(servers, server)) {
        const message = `There is no server "${server}"`;
        return [{ file, message, ...suggestName(server, Object.keys(servers)) }];
      }
      const tool = entry.slice(server.length + 1);
      const known = own(tools, server);
      if (tool === '' || known === undefined || meansAny(tool, server, new Set(known), false)) return [];
      return [{ file, message: `There is no tool "${tool}" in ${server}`, ...suggestName(tool, known) }];
    }),
  );
}

/** Both `files/read` and `files` belong to `files`. */
const serverIn = (entry: string): string => entry.split('/', 1)[0]!;

function lintRestriction(
  config: McpConfig,
  known: KnownToLint,
  role: string,
  id: string,
  restriction: Restriction,
): ConfigFinding[] {
  const path = ['toolRestrictions', role, id];
  if (id === SQUAD_ITSELF) return [ofSquadItself(path)];
  if (!Object.hasOwn(config.servers, id)) return unknownServer(config, id, path);
  if ('exclude' in restriction)
    return unknownTools(known, id, restriction.exclude, [...path, 'exclude'], true);
  const { include } = restriction;
  const { tools } = config.servers[id]!;
  const listed = new Set(tools);
  const isDisjoint =
    tools.length > 0 &&
    ![...tools, ...include].includes('*') &&
    !include.some(tool => meansAny(tool, id, listed, false) || tools.some(each => isMeant(each, id, tool)));
  const disjoint = warning(
    [...path, 'include'],
    `None of these is among the tools of the server ${id}, so ${role} has none`,
    'A restriction only removes tools: add the names to the tools of the server too.',
  );
  return [
    ...unknownTools(known, id, include, [...path, 'include'], false),
    ...(isDisjoint ? [disjoint] : []),
  ];
}

function lintRule(
  config: McpConfig,
  known: KnownToLint,
  rule: McpConfig['argumentRules'][number],
  path: ConfigPath,
): ConfigFinding[] {
  if (rule.server === SQUAD_ITSELF) return [ofSquadItself(path)];
  const folders = (rule.under ?? []).flatMap((folder, index) =>
    folder.replace(/\$\{(WORKSPACE_ROOT|SQUAD_ROOT)\}/g, '').includes('${')
      ? [
          error(
            [...path, 'under', index],
            'Nothing can be below this folder',
            'Of all variables, only WORKSPACE_ROOT and SQUAD_ROOT count here.',
          ),
        ]
      : [],
  );
  const isIndexed = rule.argument.split('.').some(segment => /^\d+$/.test(segment));
  const indexed = warning(
    [...path, 'argument'],
    'A number is the name of an argument here, not a position in a list',
    'Leave it out: every element of a list counts.',
  );
  return [
    ...unknownServer(config, rule.server, [...path, 'server']),
    ...rule.role.filter(isExact).flatMap(role => unknownRole(known, role, [...path, 'role'])),
    ...unknownTools(known, rule.server, rule.tool.filter(isExact), [...path, 'tool'], true),
    ...folders,
    ...(isIndexed ? [indexed] : []),
  ];
}

function unknownServer({ servers, disabled = {} }: McpConfig, id: string, path: ConfigPath): ConfigFinding[] {
  // The faults of a disabled server are reported at its own entry.
  if (Object.hasOwn(servers, id) || Object.hasOwn(disabled, id) || id === SQUAD_ITSELF) return [];
  const { suggestion } = suggestName(id, Object.keys(servers));
  return [error(path, `There is no server "${id}"`, suggestion)];
}

const ofSquadItself = (path: ConfigPath): ConfigFinding =>
  warning(
    path,
    "This has no effect: it is about Squad's own tools, which do not come from a server of this file",
    "The role's frontmatter decides which of Squad's tools it has: type, spawn and mcp.",
  );

function unknownRole({ roles }: KnownToLint, role: string, path: ConfigPath): ConfigFinding[] {
  if (roles === null || roles.includes(role)) return [];
  return [warning(path, `There is no role "${role}"`, suggestName(role, roles).suggestion)];
}

function unusedServers(
  { servers, shared, agentServers }: McpConfig,
  { roleFiles }: KnownToLint,
): ConfigFinding[] {
  if (roleFiles === undefined) return [];
  const used = new Set([...shared, ...Object.values(agentServers).flat()]);
  return Object.keys(servers).flatMap(id => {
    const givers = roleFiles.filter(({ mcp }) => mcp.some(entry => serverIn(entry) === id));
    if (used.has(id) || givers.some(({ isTrusted }) => isTrusted)) return [];
    const path = ['servers', id];
    const [giver] = givers;
    return [
      giver
        ? warning(
            path,
            `Only ${giver.file} gives the server ${id} to a role, and that file is not trusted`,
            'Read it, then run `squad trust`.',
          )
        : warning(
            path,
            `No role has the server ${id}`,
            'Name it in agentServers or shared, or in the frontmatter of a role under mcp.',
          ),
    ];
  });
}
