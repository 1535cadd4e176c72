import { visibleLine } from '../../base/text.ts';
import { homeFolder } from '../../link/home.ts';
import { SquadError } from '../../schema/error.ts';
import { type McpConfig, Server, ServerId } from '../../schema/mcp-config.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { changeMcpConfig } from '../../workspace/gateway/change-mcp-config.ts';
import { checkMcpConfig } from '../../workspace/gateway/mcp-config-file.ts';
import { refuseAgents } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { type Inspected, inspect } from '../settings/inspect.ts';
import type { Entry } from '../setup/install/clients.ts';
import { jsonFormat } from '../setup/install/json-format.ts';
import { writeMcpSchema } from '../setup/starter-file.ts';
import { printJson } from '../terminal/json.ts';

interface NewServer {
  id: string;
  /** The JSON for the file. */
  entry: Entry;
}

interface GivenTo {
  roles: readonly string[];
  /** To every run. */
  shared: boolean;
}

/** The configuration with these servers added. Every other byte stays. A server of the same id is replaced. */
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

export const listsOf = (text: string): Partial<Lists> => JSON.parse(text) as Partial<Lists>;

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
  if (context.json) printJson(context.out, { ...changed, server: id, entry, ...given, remarks });
  else
    print(context, [
      `${id} is in ${changed.file}.`,
      ...howItIsGiven([id], given, inspected),
      ...remarks.map(context.style.yellow),
      ...trustLines(changed.isTrusted, given.roles),
    ]);
  return EXIT.done;
}

/** Warnings about the new server. Throws errors. */
function remarksOn(id: string, entry: NewServer['entry']): string[] {
  const { remarks } = checkMcpConfig(JSON.stringify({ servers: { [id]: entry } }));
  const error = remarks.find(({ level }) => level === 'error');
  if (error)
    throw new SquadError('INVALID_INPUT', `${id} would not work: ${error.message}. Nothing was written.`, {
      suggestions: error.suggestion === null ? [] : [error.suggestion],
    });
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
    ...(shared ? ['Every run here has it.'] : []),
    ...(roles.length > 0 ? [`Given to: ${roles.map(visibleLine).join(', ')}.`] : []),
    ...unknown.map(role => `There is no role ${visibleLine(role)} here (squad roles lists them).`),
    ...(!shared && roles.length === 0
      ? [`No role has it yet: name it in "agentServers", or in \`mcp: [${ids.join(', ')}]\` of a role file.`]
      : []),
  ];
}

export const trustLines = (isTrusted: boolean, roles: readonly string[]): string[] =>
  isTrusted
    ? [`See what it offers: squad mcp tools${roles[0] === undefined ? '' : ` --role ${shellWord(roles[0])}`}`]
    : ['The file came with the repository and has no effect yet: read it, then run squad trust'];

/** Also one that is disabled because of a mistake. */
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
    if (header.length > 0) throw wrong('--header is for a URL; a command takes --env');
    if (sse) throw wrong('--sse is for a URL');
    return checked({
      command,
      ...(args.length > 0 && { args }),
      ...(env.length > 0 && { env: pairs('--env', env) }),
      tools: toolsIn(options),
    });
  }
  if (command !== undefined || url === undefined) throw wrong('Give either a command after -- or --url');
  if (env.length > 0) throw wrong('--env is for a command; a URL takes --header');
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
