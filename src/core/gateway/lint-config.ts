import { isRefusedHost } from '../../base/network.ts';
import { nearest } from '../../base/text.ts';
import { MIN_SECRET_LENGTH } from '../../redaction/secret-forms.ts';
import { type McpConfig, type Restriction, type Server, SQUAD_ITSELF } from '../../schema/mcp-config.ts';
import { EVERYBODY, isExact } from './dangling-references.ts';
import { own } from './grants.ts';
import { isSecretArgument, looksSecretValue } from './secrets.ts';
import { isMeant, meansAny } from './tool-names.ts';
import {
  isOrdinaryVariable,
  looksSecretHeader,
  looksSecretName,
  malformedVariable,
  namesIn,
  substitute,
} from './variables.ts';

type ConfigPath = (string | number)[];

/** An error or warning about the configuration, at a place in it. */
export interface ConfigFinding {
  level: 'error' | 'warning';
  path: ConfigPath;
  message: string;
  suggestion?: string;
  /** True if something is not set on this machine, while the file itself is correct. */
  isLacking?: boolean;
}

const finding =
  (level: ConfigFinding['level']) =>
  (path: ConfigPath, message: string, suggestion?: string): ConfigFinding => ({
    level,
    path,
    message,
    ...(suggestion !== undefined && { suggestion }),
  });

const error = finding('error');
const warning = finding('warning');

/** Facts outside the configuration. Checks that need a missing fact are skipped. */
export interface KnownToLint {
  roles: readonly string[] | null;
  env: Readonly<Record<string, string>> | null;
  /** Known tools by server, under the server's own names. A server that was never listed is missing. */
  tools?: Readonly<Record<string, readonly string[]>>;
  roleFiles?: readonly RoleServers[];
}

/** The servers and tools that a role file names under `mcp`. */
export interface RoleServers {
  id: string;
  file: string;
  mcp: readonly string[];
  /** If false, the entries have no effect until the user trusts the file. */
  isTrusted: boolean;
}

/** Checks a single server. `whenUnset` describes the consequence of a variable that is not set. */
export function lintServer(
  id: string,
  server: Server,
  known: KnownToLint,
  whenUnset = `the server ${id} is left out`,
): ConfigFinding[] {
  const at: ConfigPath = ['servers', id];
  const texts = textsWithPaths(server);
  return [
    ...texts.flatMap(([path, text]) => lintText([...at, ...path], text, known.env, whenUnset)),
    ...literalSecrets(server, at, texts),
    ...('command' in server ? lintPackage(server, at) : lintUrl(server.url, [...at, 'url'])),
    ...lintInstance(id, server, at),
    ...unknownTools(known, id, server.tools, [...at, 'tools'], false),
  ];
}

function textsWithPaths(server: Server): [ConfigPath, string][] {
  if (!('command' in server)) return [[['url'], server.url], ...fields('headers', server.headers)];
  return [
    [['command'], server.command],
    ...server.args.map((text, index): [ConfigPath, string] => [['args', index], text]),
    ...fields('env', server.env),
    ...(server.cwd === undefined ? [] : [[['cwd'], server.cwd] as [ConfigPath, string]]),
  ];
}

const fields = (key: string, record: Record<string, string>): [ConfigPath, string][] =>
  Object.entries(record).map(([name, text]) => [[key, name], text]);

function lintText(
  path: ConfigPath,
  text: string,
  env: KnownToLint['env'],
  whenUnset: string,
): ConfigFinding[] {
  const malformed = malformedVariable(text);
  const findings: ConfigFinding[] = [];
  if (malformed !== null)
    findings.push(
      error(
        path,
        `"${malformed}" is not a valid variable, so it is not replaced`,
        `A variable is $\{NAME}, of letters, digits and _; there are no defaults.`,
      ),
    );
  for (const name of env === null ? [] : new Set(namesIn(text))) {
    if (name === 'WORKSPACE_ROOT' || name === 'SQUAD_ROOT') continue;
    const value = Object.hasOwn(env!, name) ? env![name]! : '';
    if (value === '')
      findings.push({
        ...error(
          path,
          `The variable ${name} is not set, so ${whenUnset}`,
          `Set ${name} in the environment of the program that starts Squad.`,
        ),
        isLacking: true,
      });
    else if (value.length < MIN_SECRET_LENGTH && !isOrdinaryVariable(name))
      findings.push(
        warning(
          path,
          `The value of ${name} has fewer than ${MIN_SECRET_LENGTH} characters, so Squad cannot redact it in what agents read`,
        ),
      );
  }
  return findings;
}

function literalSecrets(server: Server, at: ConfigPath, texts: [ConfigPath, string][]): ConfigFinding[] {
  const looksSecret = 'command' in server ? looksSecretName : looksSecretHeader;
  return texts.flatMap(([path, text]): ConfigFinding[] => {
    const [key, place] = path;
    const name = typeof place === 'string' ? place : null;
    const isNamed = name !== null && looksSecret(name) && text.length >= MIN_SECRET_LENGTH;
    const isArgument =
      'command' in server && key === 'args' && isSecretArgument(server.args, place as number);
    if (!looksSecretValue(text) && !isArgument && !(isNamed && namesIn(text).length === 0)) return [];
    const variable = (name ?? 'SECRET').toUpperCase().replace(/[^A-Z0-9_]/g, '_');
    return [
      warning(
        [...at, ...path],
        'This looks like a secret in a file that others read',
        `Put it into a variable and write \${${variable}}.`,
      ),
    ];
  });
}

function lintUrl(text: string, path: ConfigPath): ConfigFinding[] {
  const url = URL.parse(substitute(text, () => 'variable'));
  // A value that starts with a variable can be any URL.
  if (!text.startsWith('${') && url?.protocol !== 'http:' && url?.protocol !== 'https:')
    return [error(path, 'This is not an http or https URL')];
  if (url !== null && isRefusedHost(url.hostname))
    return [
      error(
        path,
        `Squad never connects to ${url.hostname}`,
        'Link-local and cloud metadata addresses hold credentials, not tools.',
      ),
    ];
  const isKnown = url !== null && !url.hostname.includes('variable');
  const isNear = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(url?.hostname ?? '');
  if (url?.protocol !== 'http:' || !isKnown || isNear) return [];
  return [warning(path, `Traffic to ${url.hostname} is not encrypted: the URL is http`, 'Use https.')];
}

function lintPackage(
  { command, args }: { command: string; args: string[] },
  at: ConfigPath,
): ConfigFinding[] {
  if (!/(^|\/)(npx|bunx)$/.test(command)) return [];
  const index = args.findIndex(arg => !arg.startsWith('-'));
  const name = args[index];
  if (name === undefined || namesIn(name).length > 0 || /.@\d/.test(name)) return [];
  return [
    warning(
      [...at, 'args', index],
      `${name} has no version, so it may be another program each time`,
      'Name the version you have checked: name@1.2.3.',
    ),
  ];
}

/** Programs that keep state between calls. */
const REMEMBERS = /playwright|puppeteer|browser|chrome|selenium|shell|terminal|repl|jupyter|ipython/i;

function lintInstance(id: string, server: Server, at: ConfigPath): ConfigFinding[] {
  const words = 'command' in server ? [id, server.command, ...server.args] : [id];
  if (server.instance !== 'shared' || !words.some(word => REMEMBERS.test(word))) return [];
  return [
    warning(
      at,
      `The server ${id} seems to keep state between calls, and all agents share it`,
      'Add "instance": "per-agent" to give each agent its own.',
    ),
  ];
}

/** Finds names that match no tool of a server whose tools are known, and patterns in lists that accept only names. */
function unknownTools(
  { tools = {} }: KnownToLint,
  id: string,
  names: readonly string[],
  path: ConfigPath,
  /**
   * Whether the list excludes tools. A wrong name in such a list hides the whole server, while in a list that allows
   * tools it has no effect. Only excluding lists may contain patterns.
   */
  takesAway: boolean,
): ConfigFinding[] {
  const level = takesAway ? error : warning;
  const listed = own(tools, id);
  const known = listed && new Set(listed);
  return names.flatMap((name, index) => {
    const at = [...path, index];
    if (name !== '*' && name.includes('*') && !takesAway)
      return [error(at, `"${name}" is read as the name of a tool: only "*" by itself means all tools`)];
    if (known === undefined || meansAny(name, id, known, takesAway)) return [];
    const hidden = takesAway ? ', so its tools are hidden until this is corrected or confirmed' : '';
    return [
      level(at, `There is no tool "${name}" in ${id}${hidden}`, suggestName(name, [...known]).suggestion),
    ];
  });
}

function suggestName(wrong: string, names: readonly string[]): { suggestion?: string } {
  const near = nearest(wrong, names);
  if (near.length > 0) return { suggestion: `Did you mean ${near.map(name => `"${name}"`).join(' or ')}?` };
  return names.length === 0 ? {} : { suggestion: `Available: ${names.slice(0, 12).join(', ')}.` };
}

/**
 * Finds mistakes and likely mistakes in a configuration that could be parsed. A finding never contains the value of a
 * variable.
 */
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

/** A server or tool that a role file names under `mcp` and that does not exist. */
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
      // Entries `squad/…` are skipped, because they mean Squad's own tools.
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

/** The server of an entry: both `files/read` and `files` belong to `files`. */
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
    `None of these names is in "tools" of the server ${id}, so ${role} gets no tools from it`,
    'A restriction only removes tools. Add the names to "tools" of the server too.',
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
            'The only variables that are replaced here are WORKSPACE_ROOT and SQUAD_ROOT.',
          ),
        ]
      : [],
  );
  const isIndexed = rule.argument.split('.').some(segment => /^\d+$/.test(segment));
  const indexed = warning(
    [...path, 'argument'],
    'A number in this path is read as the name of an argument, not as a position in a list',
    'Leave the number out: every element of a list is checked.',
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
