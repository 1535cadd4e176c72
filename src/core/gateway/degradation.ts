/** A server that an agent cannot use now. */
export interface UnavailableServer {
  server: string;
  /** Why the server is unavailable, as one clause without secrets. */
  fault: string;
  /** Milliseconds until the next attempt to connect. Null if no retry is planned. */
  retryInMs: number | null;
  /** Tools of the role's other servers that are up or starting, by their exposed names. Only these are suggested. */
  others: readonly { server: string; tools: readonly string[]; isStarting?: boolean }[];
  /** Whether the agent has tools besides those of servers. */
  ownTools: boolean;
}

/** Maximum number of tools that are named; the agent's list of tools has the rest. */
const MAX_TOOLS = 8;
const MAX_SERVERS = 6;

/** The text that an agent gets instead of a result. */
export function unavailableText(state: UnavailableServer): string {
  return [
    `The server ${state.server} is unavailable: ${clause(state.fault)}.`,
    `It ${retry(state.retryInMs)}${(state.retryInMs ?? 0) > 0 ? '; calling it before then does not help' : ''}.`,
    ...alternatives(state),
  ].join(' ');
}

/** The text that an agent gets before it starts. Null when every server is available. */
export function startNotice(list: readonly UnavailableServer[]): string | null {
  const first = list[0];
  if (!first) return null;
  const lines = list.map(
    ({ server, fault, retryInMs }) => `- ${server}: ${clause(fault)}; it ${retry(retryInMs)}.`,
  );
  return [
    list.length === 1 ? 'A server of your role is unavailable:' : 'Servers of your role are unavailable:',
    ...lines,
    ['Their tools appear when they are back.', ...alternatives(first)].join(' '),
  ].join('\n');
}

/** How a server failed a run: it was never available, it failed during the run, or it kept failing. */
export type ServerError = 'absent' | 'lost' | 'failing';

const ERROR_TEXTS: Readonly<Record<ServerError, string>> = {
  absent: 'was not available',
  lost: 'failed during the run',
  failing: 'kept failing',
};

/** A note for the result of a run that could not use a server. */
export const describeServerError = (server: string, error: ServerError, fault: string): string =>
  `The MCP server ${server} ${ERROR_TEXTS[error]}: ${clause(fault)}.`;

function alternatives({ others, ownTools }: UnavailableServer): string[] {
  const routes = others.filter(({ tools, isStarting }) => isStarting || tools.length > 0);
  const listed = routes
    .slice(0, MAX_SERVERS)
    .map(
      ({ server, tools, isStarting }) => `${server} (${isStarting ? 'starting' : someOf(tools, MAX_TOOLS)})`,
    );
  const more = routes.length - listed.length;
  return [
    ...(listed.length > 0
      ? [`Still there for your role: ${listed.join(', ')}${more > 0 ? ` and ${more} more servers` : ''}.`]
      : []),
    ownTools
      ? 'Continue with your own tools where they are enough, and say in your report what could not be done without this.'
      : 'Do what can be done without it, and say in your report what could not.',
  ];
}

function someOf(names: readonly string[], most: number): string {
  const more = names.length - most;
  return names.slice(0, most).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function retry(inMs: number | null): string {
  if (inMs === null) return 'is not tried again until its configuration changes';
  const seconds = Math.ceil(inMs / 1_000);
  if (seconds <= 0) return 'is being tried again now';
  return seconds < 120
    ? `is tried again in ${seconds} s`
    : `is tried again in ${Math.ceil(seconds / 60)} min`;
}

/** A fault is text of another program, so it is reduced to one short line without a full stop. */
function clause(fault: string): string {
  const line = fault.replace(/\s+/g, ' ').trim().replace(/\.+$/, '');
  if (line === '') return 'it does not answer';
  return line.length > 300 ? `${line.slice(0, 300).toWellFormed()}…` : line;
}
