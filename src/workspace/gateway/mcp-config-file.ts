import { join } from 'node:path';
import { getNodeValue, type Node } from 'jsonc-parser';
import type { z } from 'zod';
import { isObject } from '../../base/json.ts';
import { oneLine, visibleText } from '../../base/text.ts';
import {
  type ConfigFinding,
  type KnownToLint,
  lintMcpConfig,
  lintRoleFiles,
  type RoleFinding,
} from '../../core/gateway/lint-config.ts';
import { literalSecrets, variablesIn } from '../../core/gateway/variables.ts';
import { offThread } from '../../core/off-thread.ts';
import { createRedactor } from '../../redaction/redactor.ts';
import { SquadError } from '../../schema/error.ts';
import { type DisabledServer, McpConfig, type Server, SQUAD_ITSELF } from '../../schema/mcp-config.ts';
import {
  type JsonProblem,
  offsetAt,
  parseJsonTree,
  placeOf,
  problemsOf,
  problemText,
} from '../files/json-file.ts';
import { resolveInside } from '../files/paths.ts';
import { readTextFile, type TextFile } from '../files/text-file.ts';
import { isTrusted } from '../settings/trust.ts';

type Issue = z.core.$ZodIssue;
type Json = Record<string, unknown>;

export type ParsedMcpConfig =
  /** A valid configuration. `problems` has the mistakes of single servers, which are disabled because of them. */
  | { config: McpConfig; tree: Node; problems: JsonProblem[] }
  | { config: null; tree: null; problems: JsonProblem[] };

/**
 * Parses `.squad/mcp-config.json`. A mistake in a server's entry, restrictions or rules disables only that server,
 * because an unreadable restriction must not leave its server open. Any other mistake makes the whole file invalid.
 */
export function parseMcpConfig(text: string): ParsedMcpConfig {
  const parsed = parseJsonTree(text);
  if ('problems' in parsed) return { config: null, tree: null, problems: parsed.problems };
  const { tree } = parsed;
  const value: unknown = withoutSquad(getNodeValue(tree));
  const checked = McpConfig.safeParse(value);
  if (checked.success) return { config: checked.data, tree, problems: [] };
  const { issues } = checked.error;
  const wrong = new Map<string, string>();
  for (const issue of issues) {
    const server = serverOf(issue, value);
    if (server === null) return { config: null, tree: null, problems: problemsOf(tree, McpConfig, issues) };
    const [first] = problemsOf(tree, McpConfig, [issue]);
    if (!wrong.has(server)) wrong.set(server, first?.message ?? issue.message);
  }
  const disabled = Object.fromEntries(
    [...wrong].flatMap(([id, message]) =>
      id === SQUAD_ITSELF ? [] : [[id, { type: typeOf(value, id), fault: message }]],
    ),
  );
  const rest = McpConfig.safeParse(without(value as Json, issues, wrong));
  const problems = problemsOf(tree, McpConfig, issues);
  if (!rest.success) return { config: null, tree: null, problems };
  return { config: { ...rest.data, disabled }, tree, problems };
}

/** Like `parseMcpConfig`, but throws the first mistake that makes the whole file invalid. */
export function requireMcpConfig(file: string, text: string): McpConfig {
  const { config, problems } = parseMcpConfig(text);
  if (config !== null) return config;
  const [problem] = problems as [JsonProblem, ...JsonProblem[]];
  throw new SquadError('CONFIG_INVALID', problemText(file, text, problem), {
    suggestions: [problem.suggestion ?? `Fix ${file}, then try again.`],
  });
}

/** Every run has Squad's own connection, so an entry for it in the file has no effect. */
function withoutSquad(value: unknown): unknown {
  const servers = recordOf(recordOf(value)?.servers);
  if (servers === null || !Object.hasOwn(servers, SQUAD_ITSELF)) return value;
  const { [SQUAD_ITSELF]: _, ...others } = servers;
  return { ...recordOf(value), servers: others };
}

/** The server that a mistake is about. Null for the whole file. */
function serverOf({ path }: Issue, value: unknown): string | null {
  const [key, second, third] = path.map(step => (typeof step === 'symbol' ? '' : step));
  if (key === 'servers' && second !== undefined) return String(second);
  if (key === 'toolRestrictions' && third !== undefined) return String(third);
  if (key !== 'argumentRules' || typeof second !== 'number') return null;
  const rules = recordOf(value)?.argumentRules;
  const rule = Array.isArray(rules) ? recordOf(rules[second]) : null;
  return typeof rule?.server === 'string' && rule.server !== '' ? rule.server : null;
}

function without(value: Json, issues: readonly Issue[], wrong: ReadonlyMap<string, unknown>): Json {
  const badRules = new Set(issues.flatMap(({ path }) => (path[0] === 'argumentRules' ? [path[1]] : [])));
  const restrictions = recordOf(value.toolRestrictions);
  return {
    ...value,
    servers: leftOf(value.servers, wrong),
    ...(restrictions && {
      toolRestrictions: Object.fromEntries(
        Object.entries(restrictions).map(([role, servers]) => [role, leftOf(servers, wrong)]),
      ),
    }),
    ...(Array.isArray(value.argumentRules) && {
      argumentRules: value.argumentRules.filter((_, index) => !badRules.has(index)),
    }),
  };
}

function leftOf(servers: unknown, wrong: ReadonlyMap<string, unknown>): unknown {
  const all = recordOf(servers);
  return all ? Object.fromEntries(Object.entries(all).filter(([id]) => !wrong.has(id))) : servers;
}

function typeOf(value: unknown, id: string): DisabledServer['type'] {
  const servers = recordOf(recordOf(value)?.servers);
  const entry = servers && Object.hasOwn(servers, id) ? recordOf(servers[id]) : null;
  if (entry === null || !('url' in entry)) return 'stdio';
  return entry.type === 'sse' ? 'sse' : 'http';
}

const recordOf = (value: unknown): Json | null => (isObject(value) ? value : null);

/** Path of the file in the workspace. */
export const MCP_CONFIG_NAME = join('.squad', 'mcp-config.json');

export const mcpConfigPath = (workspace: string): string => join(workspace, MCP_CONFIG_NAME);

/** An error or warning about the file, at a place in it. */
export interface ConfigRemark {
  level: ConfigFinding['level'];
  line: number;
  column: number;
  message: string;
  suggestion: string | null;
}

/** `config` is null when the text is not a valid configuration. The remarks then contain an error. */
export interface CheckedConfig {
  config: McpConfig | null;
  remarks: ConfigRemark[];
  /** Servers and tools that role files name but that do not exist. */
  ofRoles: RoleFinding[];
}

/** Maximum size of the file. Thousands of servers, roles and rules fit into it. */
const MAX_CONFIG_BYTES = 256 * 1024;

/** Reads a workspace's configuration. Does not follow a link that leads out of the workspace. */
export async function readMcpConfig(workspace: string): Promise<TextFile> {
  const place = await resolveInside(workspace, mcpConfigPath(workspace));
  if ('outside' in place) return { fault: 'is a symbolic link that leads out of the workspace' };
  return 'real' in place ? readTextFile(place.real, MAX_CONFIG_BYTES) : place;
}

const NOTHING_KNOWN: KnownToLint = { roles: null, env: null };

/** Checks the text by itself and against known facts, such as roles and tools. */
export function checkMcpConfig(text: string, known: KnownToLint = NOTHING_KNOWN): CheckedConfig {
  const { config, tree, problems } = parseMcpConfig(text);
  const wrong = problems.map(({ offset, message, suggestion = null }) => ({
    level: 'error' as const,
    ...placeOf(text, offset),
    message,
    suggestion,
  }));
  if (config === null) return { config, ofRoles: [], remarks: wrong };
  const odd = lintMcpConfig(config, known).map(({ level, path, message, suggestion = null }) => ({
    level,
    ...placeOf(text, offsetAt(tree, path)),
    message,
    suggestion,
  }));
  return {
    config,
    ofRoles: lintRoleFiles(config, known.roleFiles ?? [], known.tools ?? {}),
    remarks: [...wrong, ...odd].sort((one, other) => one.line - other.line || one.column - other.column),
  };
}

/** Like `checkMcpConfig`, in a worker thread, so that a large file does not block the hub. */
export const checkMcpConfigOffThread = (text: string): Promise<CheckedConfig> =>
  offThread('mcp-config', checkMcpConfig, text.length, text);

export function remarkText(file: string, { line, column, message, suggestion }: ConfigRemark): string {
  return [`${file}, line ${line}, column ${column}: ${sentence(message)}`, suggestion]
    .filter(part => part !== null)
    .join(' ');
}

/** Whether a configuration may take effect. One without servers gives no access and needs no trust. */
export async function mayCount(
  home: string,
  file: string,
  text: string,
  config: McpConfig,
): Promise<boolean> {
  return Object.keys(config.servers).length === 0 || isTrusted(home, file, text);
}

/** The file, if it is valid and waits for the user to trust it. */
export async function untrustedMcpConfig(home: string, workspace: string): Promise<string[]> {
  const file = mcpConfigPath(workspace);
  const read = await readMcpConfig(workspace);
  if (!('text' in read)) return [];
  const { config } = await checkMcpConfigOffThread(read.text);
  return config !== null && !(await mayCount(home, file, read.text, config)) ? [file] : [];
}

const sentence = (message: string) => (/[.?!]$/.test(message) ? message : `${message}.`);

/** Effects of a configuration, for the person who decides whether to trust it. */
export interface McpSummary {
  /** Programs that the configuration starts, with their arguments. */
  starts: { server: string; command: string }[];
  reaches: { server: string; url: string }[];
  /** Variables that the configuration reads from the environment. */
  reads: string[];
  /** Servers by role. `role` is null for servers of every run. */
  gives: { role: string | null; servers: string[] }[];
}

export function summaryOf(config: McpConfig): McpSummary {
  const servers = Object.entries(config.servers);
  return {
    starts: servers.flatMap(([server, it]) =>
      'command' in it ? { server, command: redacted(it, commandOf(it)) } : [],
    ),
    reaches: servers.flatMap(([server, it]) => ('url' in it ? { server, url: redacted(it, it.url) } : [])),
    reads: variablesIn(config),
    gives: [
      ...(config.shared.length > 0 ? [{ role: null, servers: config.shared }] : []),
      ...Object.entries(config.agentServers).map(([role, given]) => ({ role: shown(role), servers: given })),
    ],
  };
}

/** Summary such as `start github (npx -y x) and reach docs (https://…)`. */
export function summaryText(config: McpConfig): string {
  const { starts, reaches } = summaryOf(config);
  return [
    listed(
      'start',
      starts.map(({ server, command }) => `${server} (${command})`),
    ),
    listed(
      'reach',
      reaches.map(({ server, url }) => `${server} (${url})`),
    ),
  ]
    .filter(Boolean)
    .join(' and ');
}

const MAX_TEXT_LENGTH = 200;
const MAX_NAMED = 8;

function listed(verb: string, names: string[]): string {
  if (names.length === 0) return '';
  const more = names.length > MAX_NAMED ? `, and ${names.length - MAX_NAMED} more` : '';
  return `${verb} ${names.slice(0, MAX_NAMED).join(', ')}${more}`;
}

/**
 * Command or address of a server, with its environment or headers. Nothing is shortened, because a person decides by
 * these lines.
 */
export function startLines(server: Server): string[] {
  const isLocal = 'command' in server;
  const given = Object.entries(isLocal ? server.env : server.headers);
  return [
    isLocal ? commandOf(server) : server.url,
    ...(isLocal && server.cwd !== undefined ? [`in ${server.cwd}`] : []),
    ...given.map(([name, value]) => `with ${name}=${value}`),
  ].map(line => exactLine(createRedactor(literalSecrets(server)).text(line)));
}

/**
 * Quotes arguments with spaces, so that one does not look like two. The result is for reading, not for pasting:
 * hidden characters stay.
 */
function commandOf({ command, args }: Extract<Server, { command: string }>): string {
  return [command, ...args].map(word => (/^[^\s"']+$/.test(word) ? word : JSON.stringify(word))).join(' ');
}

/** Text for logs, without secrets that somebody wrote into the file. */
const redacted = (server: Server, text: string): string =>
  shown(createRedactor(literalSecrets(server)).text(text));

/** The whole text on one line: line ends and tabs become symbols. */
const exactLine = (text: string): string => visibleText(text).replaceAll('\n', '␊').replaceAll('\t', '␉');

const shown = (text: string): string => oneLine(text, MAX_TEXT_LENGTH);
