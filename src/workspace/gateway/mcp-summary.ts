import { oneLine } from '../../base/one-line.ts';
import { visibleText } from '../../base/visible-text.ts';
import { literalSecrets, variablesIn } from '../../core/gateway/variables.ts';
import { createRedactor } from '../../redaction/redactor.ts';
import type { McpConfig, Server } from '../../schema/mcp-config.ts';

/** What a configuration would do, for whoever is to decide whether it may. */
export interface McpSummary {
  /** Programs, each with its arguments. */
  starts: { server: string; command: string }[];
  reaches: { server: string; url: string }[];
  /** Variables it takes from the environment. */
  reads: string[];
  /** `role` null: every run. */
  gives: { role: string | null; servers: string[] }[];
}

export function summaryOf(config: McpConfig): McpSummary {
  const servers = Object.entries(config.servers);
  return {
    starts: servers.flatMap(([server, it]) =>
      'command' in it ? { server, command: harmless(it, commandOf(it)) } : [],
    ),
    reaches: servers.flatMap(([server, it]) => ('url' in it ? { server, url: harmless(it, it.url) } : [])),
    reads: variablesIn(config),
    gives: [
      ...(config.shared.length > 0 ? [{ role: null, servers: config.shared }] : []),
      ...Object.entries(config.agentServers).map(([role, given]) => ({ role: shown(role), servers: given })),
    ],
  };
}

/** `start github (npx -y x) and reach docs (https://…)`. */
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

const LONGEST = 200;
const MOST_NAMED = 8;

function listed(verb: string, names: string[]): string {
  if (names.length === 0) return '';
  const more = names.length > MOST_NAMED ? `, and ${names.length - MOST_NAMED} more` : '';
  return `${verb} ${names.slice(0, MOST_NAMED).join(', ')}${more}`;
}

/** Command or address of a server, with its environment or headers. Nothing is cut, because a person decides by these lines. */
export function startLines(server: Server): string[] {
  const isLocal = 'command' in server;
  const given = Object.entries(isLocal ? server.env : server.headers);
  return [
    isLocal ? commandOf(server) : server.url,
    ...(isLocal && server.cwd !== undefined ? [`in ${server.cwd}`] : []),
    ...given.map(([name, value]) => `with ${name}=${value}`),
  ].map(line => exactLine(createRedactor(literalSecrets(server)).text(line)));
}

/** Words with spaces are quoted, so that one argument does not look like two. To be read, not pasted: hidden characters stay. */
function commandOf({ command, args }: Extract<Server, { command: string }>): string {
  return [command, ...args].map(word => (/^[^\s"']+$/.test(word) ? word : JSON.stringify(word))).join(' ');
}

/** It goes into logs: a secret that somebody wrote into the file stays there. */
const harmless = (server: Server, text: string): string =>
  shown(createRedactor(literalSecrets(server)).text(text));

/** Uncut, and on one line by pictures of its line ends. */
const exactLine = (text: string): string => visibleText(text).replaceAll('\n', '␊').replaceAll('\t', '␉');

const shown = (text: string): string => oneLine(text, LONGEST);
