import { findNodeAtLocation, getNodeValue, parseTree } from 'jsonc-parser';
import { visibleLine } from '../../base/text.ts';
import { homeFolder } from '../../link/home.ts';
import { SquadError } from '../../schema/error.ts';
import { type McpConfig, Server, ServerId } from '../../schema/mcp-config.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { changeMcpConfig } from '../../workspace/gateway/change-mcp-config.ts';
import { checkMcpConfig } from '../../workspace/gateway/mcp-config-file.ts';
import { refuseAgents } from '../arguments.ts';
import { type CliContext, printResult } from '../context.ts';
import { withOwnCommand } from '../own-command.ts';
import { writeMcpSchema } from '../package-files.ts';
import { type Inspected, inspect } from '../settings/inspect.ts';
import type { Entry } from '../setup/install/clients.ts';
import { jsonFormat } from '../setup/install/json-format.ts';
import { inspectedGateway } from './mcp-status.ts';

interface NewServer {
  id: string;
  /** JSON object of the server, as it is written into the file. */
  entry: Entry;
}

interface GivenTo {
  roles: readonly string[];
  /** True if the server is given to every run. */
  shared: boolean;
}

/**
 * The configuration with these servers added; every other byte stays the same. A server with the same id is replaced.
 */
export function withServers(text: string, servers: readonly NewServer[], given: GivenTo): string {
  const after = servers.reduce(
    (before, { id, entry }) =>
      jsonFormat.put(jsonFormat.remove(before, ['servers', id]), ['servers', id], entry),
    text,
  );
  return withGiven(
    after,
    servers.map(({ id }) => id),
    given,
  );
}

/** The configuration with these existing servers given to roles or to every run. */
export function withGiven(text: string, ids: readonly string[], { roles, shared }: GivenTo): string {
  return ids.reduce((before, id) => {
    let after = before;
    for (const role of roles) {
      const has = listsOf(after).agentServers?.[role] ?? [];
      if (!has.includes(id)) after = jsonFormat.put(after, ['agentServers'], { [role]: [...has, id] });
    }
    const all = listsOf(after).shared ?? [];
    return shared && !all.includes(id) ? jsonFormat.put(after, [], { shared: [...all, id] }) : after;
  }, text);
}

type Lists = Pick<McpConfig, 'agentServers' | 'shared' | 'toolRestrictions' | 'argumentRules'>;

const listsOf = (text: string): Partial<Lists> => JSON.parse(text) as Partial<Lists>;

interface AddOptions {
  role?: string[];
  shared?: boolean;
  tools?: string;
  env?: string[];
  header?: string[];
  url?: string;
  sse?: boolean;
  force?: boolean;
}

/** `squad mcp add NAME -- CMD ARGS…`: adds a server to the file and gives it to roles. */
export async function mcpAdd(
  name: string,
  command: string[],
  options: AddOptions,
  context: CliContext,
): Promise<number> {
  const id = checkedId(name);
  const entry = entryOf(command, options);
  const remarks = remarksOn(id, entry);
  await refuseAgents();
  const inspected = await inspect(context);
  const { root } = inspected;
  const given = { roles: options.role ?? [], shared: options.shared ?? false };
  let isNew = false;
  const changed = await changeMcpConfig(homeFolder(process.env), root, before => {
    if (hasServer(before.config, id) && !options.force)
      throw new SquadError('INVALID_INPUT', `The server ${id} exists already. Nothing was written.`, {
        suggestions: ['Choose another name, or use --force to replace it.'],
      });
    isNew = before.isNew;
    return withServers(before.text, [{ id, entry }], given);
  });
  if (isNew) await writeMcpSchema(root);
  return printResult(context, { ...changed, server: id, entry, ...given, remarks }, () => [
    `${id} is in ${changed.file}.`,
    ...howItIsGiven([id], given, inspected),
    ...remarks.map(context.style.yellow),
    ...trustLines(changed.isTrusted, given.roles),
  ]);
}

/** Returns warnings about the new server. Throws if it has errors. */
function remarksOn(id: string, entry: NewServer['entry']): string[] {
  const { remarks } = checkMcpConfig(JSON.stringify({ servers: { [id]: entry } }));
  const error = remarks.find(({ level }) => level === 'error');
  if (error)
    throw new SquadError(
      'INVALID_INPUT',
      `The server ${id} would not work: ${error.message}. Nothing was written.`,
      {
        suggestions: error.suggestion === null ? [] : [error.suggestion],
      },
    );
  return remarks.map(({ message, suggestion }) => [`${message}.`, suggestion].filter(Boolean).join(' '));
}

/** Which roles have the new servers now, or how to give them to a role. */
export function howItIsGiven(
  ids: string[],
  { roles, shared }: { roles: string[]; shared: boolean },
  inspected: Inspected,
): string[] {
  const unknown = roles.filter(role => !inspected.roles.some(({ id }) => id === role));
  return [
    ...(shared ? ['Every run in this workspace has the server.'] : []),
    ...(roles.length > 0 ? [`Given to: ${roles.map(visibleLine).join(', ')}.`] : []),
    ...unknown.map(role =>
      withOwnCommand(`There is no role ${visibleLine(role)} here (\`squad roles\` lists the roles).`),
    ),
    ...(!shared && roles.length === 0
      ? [
          `No role has the server yet: add it to "agentServers", or in \`mcp: [${ids.join(', ')}]\` of a role file.`,
        ]
      : []),
  ];
}

export const trustLines = (isTrusted: boolean, roles: readonly string[]): string[] =>
  isTrusted
    ? [
        withOwnCommand(
          `List its tools: squad mcp tools${roles[0] === undefined ? '' : ` --role ${shellWord(roles[0])}`}`,
        ),
      ]
    : [
        withOwnCommand(
          'The file came with the repository and has no effect yet: read it, then run `squad trust`',
        ),
      ];

/** Whether the file has this server, even if it is disabled because of an error. */
const hasServer = ({ servers, disabled = {} }: McpConfig, id: string): boolean =>
  Object.hasOwn(servers, id) || Object.hasOwn(disabled, id);

function checkedId(name: string): string {
  const parsed = ServerId.safeParse(name);
  if (parsed.success) return parsed.data;
  const why = parsed.error.issues[0]?.message;
  throw new SquadError('INVALID_INPUT', `${name} cannot be the name of a server: ${why}`);
}

function entryOf([command, ...args]: string[], options: AddOptions): NewServer['entry'] {
  const { url, sse, env = [], header = [] } = options;
  if (command !== undefined && url === undefined) {
    if (header.length > 0) throw wrong('--header is only for a server with --url; use --env for a command');
    if (sse) throw wrong('--sse is only for a server with --url');
    return checked({
      command,
      ...(args.length > 0 && { args }),
      ...(env.length > 0 && { env: pairs('--env', env) }),
      tools: toolsIn(options),
    });
  }
  if (command !== undefined || url === undefined) throw wrong('Give either a command after -- or --url');
  if (env.length > 0) throw wrong('--env is only for a server that is a command; use --header with --url');
  return checked({
    type: sse ? 'sse' : 'http',
    url,
    ...(header.length > 0 && { headers: pairs('--header', header) }),
    tools: toolsIn(options),
  });
}

function checked(entry: NewServer['entry']): NewServer['entry'] {
  const result = Server.safeParse(entry);
  if (!result.success) throw wrong(result.error.issues[0]?.message ?? 'This is not a valid server');
  return entry;
}

const toolsIn = ({ tools }: AddOptions): string[] =>
  tools === undefined
    ? ['*']
    : tools
        .split(',')
        .map(tool => tool.trim())
        .filter(Boolean);

function pairs(flag: string, given: string[]): Record<string, string> {
  return Object.fromEntries(
    given.map(pair => {
      const at = pair.indexOf('=');
      if (at < 1) throw wrong(`${flag} needs NAME=VALUE, got ${pair}`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

const wrong = (message: string): SquadError =>
  new SquadError('INVALID_INPUT', message, {
    suggestions: [
      'squad mcp add files --role coder -- npx -y @modelcontextprotocol/server-filesystem .',
      'squad mcp add docs --shared --url https://example.com/mcp',
    ],
  });

/** Removes elements from a list in a JSON text; does nothing if the list does not exist. */
function removeElements(text: string, path: string[], isOut: (value: unknown) => boolean): string {
  const tree = parseTree(text);
  const list = tree && findNodeAtLocation(tree, path);
  const nodes = (list?.type === 'array' && list.children) || [];
  const at = nodes.findIndex(node => isOut(getNodeValue(node)));
  const node = nodes[at];
  if (!node) return text;
  const [before, after] = [nodes[at - 1], nodes[at + 1]];
  // Removes the element together with an adjacent comma and the white space around it.
  const from = !after && before ? before.offset + before.length : node.offset;
  const to = after ? after.offset : node.offset + node.length;
  return removeElements(text.slice(0, from) + text.slice(to), path, isOut);
}

/** Every server in the file, including those that are disabled because of an error. */
const serversIn = (text: string): string[] =>
  Object.keys((JSON.parse(text) as Pick<McpConfig, 'servers'>).servers);

/** The configuration without this server and all references to it; every other byte stays the same. */
export function withoutServer(text: string, id: string): string {
  const { agentServers = {}, toolRestrictions = {} } = listsOf(text);
  const isIt = (value: unknown) => value === id;
  let after = jsonFormat.remove(text, ['servers', id]);
  after = removeElements(after, ['shared'], isIt);
  for (const role of Object.keys(agentServers)) {
    after = removeElements(after, ['agentServers', role], isIt);
    const has = agentServers[role]!;
    if (has.length > 0 && has.every(isIt)) after = jsonFormat.remove(after, ['agentServers', role]);
  }
  for (const role of Object.keys(toolRestrictions)) {
    const ofOthers = Object.keys(toolRestrictions[role]!).filter(server => server !== id);
    const path = ofOthers.length > 0 ? [role, id] : [role];
    if (Object.hasOwn(toolRestrictions[role]!, id))
      after = jsonFormat.remove(after, ['toolRestrictions', ...path]);
  }
  return removeElements(after, ['argumentRules'], rule => (rule as { server?: unknown }).server === id);
}

/** `squad mcp remove NAME`: removes a server and all references to it from the file. */
export async function mcpRemove(name: string, context: CliContext): Promise<number> {
  await refuseAgents();
  const { root, roles } = await inspectedGateway(context);
  const changed = await changeMcpConfig(homeFolder(process.env), root, before => {
    const servers = serversIn(before.text);
    if (!servers.includes(name))
      throw new SquadError('INVALID_INPUT', `There is no server ${visibleLine(name)}. Nothing was written.`, {
        suggestions: [
          servers.length === 0
            ? 'This project has no servers yet.'
            : `The servers are: ${servers.join(', ')}.`,
        ],
      });
    return withoutServer(before.text, name);
  });
  const named = roles
    .filter(({ mcp }) => mcp.some(entry => entry === name || entry.startsWith(`${name}/`)))
    .map(({ file }) => file);
  return printResult(context, { ...changed, server: name, named }, () => [
    `Removed ${name} and all references to it from ${changed.file}.`,
    ...named.map(file => `${visibleLine(file)} still names the server under mcp.`),
  ]);
}
