import { nearest } from '../../base/text.ts';
import { type McpConfig, type Restriction, SQUAD_ITSELF } from '../../schema/mcp-config.ts';
import { EVERYBODY, isExact } from './dangling-references.ts';
import type { ConfigFinding, KnownToLint, RoleServers } from './lint-config.ts';
import { isMeant, meansAny } from './tool-names.ts';

/** Something a role file names under `mcp` that is not there. */
export interface RoleFinding {
  file: string;
  message: string;
  suggestion?: string;
}

/** What role files name and nobody has. Squad's own tools, `squad/…`, are no other server's. */
export function lintRoleFiles(
  { servers, disabled = {} }: Pick<McpConfig, 'servers' | 'disabled'>,
  roleFiles: readonly RoleServers[],
  tools: NonNullable<KnownToLint['tools']>,
): RoleFinding[] {
  return roleFiles.flatMap(({ file, mcp }) =>
    mcp.flatMap((entry): RoleFinding[] => {
      const server = serverIn(entry);
      if (server === 'squad') return [];
      if (Object.hasOwn(disabled, server)) return [];
      if (!Object.hasOwn(servers, server))
        return [
          { file, message: `There is no server "${server}"`, ...suggestName(server, Object.keys(servers)) },
        ];
      const tool = entry.slice(server.length + 1);
      const there = Object.hasOwn(tools, server) ? tools[server]! : null;
      if (tool === '' || there === null || meansAny(tool, server, new Set(there), false)) return [];
      return [{ file, message: `There is no tool "${tool}" in ${server}`, ...suggestName(tool, there) }];
    }),
  );
}

/** `files/read` and `files` are both of `files`. */
const serverIn = (entry: string): string => entry.split('/', 1)[0]!;

type Path = (string | number)[];

/** What refers to servers, roles and tools, and whether they are there. */
export function lintReferences(config: McpConfig, known: KnownToLint): ConfigFinding[] {
  const server = (id: string, path: Path) => unknownServer(config, id, path);
  return [
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
    ![...tools, ...include].includes('*') &&
    !include.some(tool => meansAny(tool, id, listed, false) || tools.some(own => isMeant(own, id, tool)));
  return [
    ...unknownTools(known, id, include, [...path, 'include'], false),
    ...(isDisjoint && tools.length > 0
      ? [
          {
            level: 'warning' as const,
            path: [...path, 'include'],
            message: `None of these is among the tools of the server ${id}, so ${role} has none`,
            suggestion: 'A restriction only takes away: add the names to the tools of the server too.',
          },
        ]
      : []),
  ];
}

function lintRule(
  config: McpConfig,
  known: KnownToLint,
  rule: McpConfig['argumentRules'][number],
  path: Path,
): ConfigFinding[] {
  const folders = (rule.under ?? []).flatMap((folder, index): ConfigFinding[] =>
    folder.replace(/\$\{(WORKSPACE_ROOT|SQUAD_ROOT)\}/g, '').includes('${')
      ? [
          {
            ...{
              level: 'error',
              path: [...path, 'under', index],
              message: 'Nothing can be below this folder',
            },
            suggestion: 'Of variables, only WORKSPACE_ROOT and SQUAD_ROOT count here.',
          },
        ]
      : [],
  );
  const isIndexed = rule.argument.split('.').some(segment => /^\d+$/.test(segment));
  if (rule.server === SQUAD_ITSELF) return [ofSquadItself(path)];
  return [
    ...unknownServer(config, rule.server, [...path, 'server']),
    ...rule.role.filter(isExact).flatMap(role => unknownRole(known, role, [...path, 'role'])),
    ...unknownTools(known, rule.server, rule.tool.filter(isExact), [...path, 'tool'], true),
    ...folders,
    ...(isIndexed
      ? [
          {
            level: 'warning' as const,
            path: [...path, 'argument'],
            message: 'A number is the name of an argument here, not a place in a list',
            suggestion: 'Leave it out: every element of a list counts.',
          },
        ]
      : []),
  ];
}

function unknownServer({ servers, disabled = {} }: McpConfig, id: string, path: Path): ConfigFinding[] {
  // The faults of a disabled server are reported at its own entry.
  if (Object.hasOwn(servers, id) || Object.hasOwn(disabled, id) || id === SQUAD_ITSELF) return [];
  return [
    { level: 'error', path, message: `There is no server "${id}"`, ...suggestName(id, Object.keys(servers)) },
  ];
}

const ofSquadItself = (path: Path): ConfigFinding => ({
  level: 'warning',
  path,
  message: "This has no effect: it is about Squad's own tools, which do not come from a server of this file",
  suggestion: 'What a role has of Squad is in its frontmatter: type, spawn and mcp.',
});

function unknownRole({ roles }: KnownToLint, role: string, path: Path): ConfigFinding[] {
  if (roles === null || roles.includes(role)) return [];
  return [{ level: 'warning', path, message: `There is no role "${role}"`, ...suggestName(role, roles) }];
}

/** Names that mean no tool of the server, where it is known what it has, and patterns where only names count. */
export function unknownTools(
  { tools }: KnownToLint,
  id: string,
  names: readonly string[],
  path: Path,
  /** A wrong name that gives has no effect; one that takes away hides the server. Only the latter may be a pattern. */
  takesAway: boolean,
): ConfigFinding[] {
  const level = takesAway ? 'error' : 'warning';
  const there = tools && Object.hasOwn(tools, id) ? new Set(tools[id]!) : null;
  return names.flatMap((name, index): ConfigFinding[] => {
    const at = [...path, index];
    if (name !== '*' && name.includes('*') && !takesAway)
      return [
        {
          level: 'error',
          path: at,
          message: `"${name}" is taken as a name: only "*" alone stands for all`,
        },
      ];
    if (there === null || meansAny(name, id, there, takesAway)) return [];
    const hidden = takesAway ? `, so its tools are hidden until this is corrected or confirmed` : '';
    const message = `There is no tool "${name}" in ${id}${hidden}`;
    return [{ level, path: at, message, ...suggestName(name, [...there]) }];
  });
}

function unusedServers(
  { servers, shared, agentServers }: McpConfig,
  { roleFiles }: KnownToLint,
): ConfigFinding[] {
  if (roleFiles === undefined) return [];
  const used = new Set([...shared, ...Object.values(agentServers).flat()]);
  return Object.keys(servers).flatMap((id): ConfigFinding[] => {
    const givers = roleFiles.filter(({ mcp }) => mcp.some(entry => serverIn(entry) === id));
    if (used.has(id) || givers.some(({ isTrusted }) => isTrusted)) return [];
    const path = ['servers', id];
    const [giver] = givers;
    return [
      giver
        ? {
            ...{
              level: 'warning',
              path,
              message: `Only ${giver.file} gives the server ${id} to a role, and that file is not trusted`,
            },
            suggestion: 'Read it, then run `squad trust`.',
          }
        : {
            ...{ level: 'warning', path, message: `Nothing gives the server ${id} to a role` },
            suggestion: 'Name it in agentServers or shared, or in the frontmatter of a role under mcp.',
          },
    ];
  });
}

function suggestName(wrong: string, names: readonly string[]): { suggestion?: string } {
  const near = nearest(wrong, names);
  if (near.length > 0) return { suggestion: `Did you mean ${near.map(name => `"${name}"`).join(' or ')}?` };
  return names.length === 0 ? {} : { suggestion: `There is: ${names.slice(0, 12).join(', ')}.` };
}
