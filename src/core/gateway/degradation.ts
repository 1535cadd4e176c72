/** A server that an agent cannot use now. */
export interface UnavailableServer {
  server: string;
  /** Why, in one clause, secrets left out. */
  fault: string;
  /** Null: it is not tried again by itself. */
  retryInMs: number | null;
  /** What the agent's role has of other servers that are in order or on their way, by the names it calls them by. Nothing else is suggested. */
  others: readonly { server: string; tools: readonly string[]; isStarting?: boolean }[];
  /** Whether the agent has tools of its own. */
  ownTools: boolean;
}

/** More names than this tell an agent nothing that its list of tools does not. */
const MAX_TOOLS = 8;
const MAX_SERVERS = 6;

/** What an agent reads instead of a result. */
export function unavailableText(state: UnavailableServer): string {
  return [
    `The server ${state.server} is unavailable: ${clause(state.fault)}.`,
    `It ${retry(state.retryInMs)}${(state.retryInMs ?? 0) > 0 ? '; calling it before is no use' : ''}.`,
    ...ways(state),
  ].join(' ');
}

/** What an agent reads before it begins; null when all is well. */
export function startNotice(list: readonly UnavailableServer[]): string | null {
  const first = list[0];
  if (!first) return null;
  const lines = list.map(
    ({ server, fault, retryInMs }) => `- ${server}: ${clause(fault)}; it ${retry(retryInMs)}.`,
  );
  return [
    list.length === 1 ? 'A server of your role is unavailable:' : 'Servers of your role are unavailable:',
    ...lines,
    ['Their tools appear when they are back.', ...ways(first)].join(' '),
  ].join('\n');
}

/** How a run was let down by a server: it was never there, it failed in the middle, or it did so over and over. */
export type ServerError = 'absent' | 'lost' | 'failing';

const TROUBLES: Readonly<Record<ServerError, string>> = {
  absent: 'was not available',
  lost: 'failed while the run was at work',
  failing: 'kept failing',
};

/** What the result of a run says of a server that it had and could not use. */
export const describeServerError = (server: string, trouble: ServerError, fault: string): string =>
  `The MCP server ${server} ${TROUBLES[trouble]}: ${clause(fault)}.`;

function ways({ others, ownTools }: UnavailableServer): string[] {
  const routes = others.filter(({ tools, isStarting }) => isStarting || tools.length > 0);
  const words = routes
    .slice(0, MAX_SERVERS)
    .map(
      ({ server, tools, isStarting }) => `${server} (${isStarting ? 'starting' : someOf(tools, MAX_TOOLS)})`,
    );
  const more = routes.length - words.length;
  return [
    ...(words.length > 0
      ? [`Still there for your role: ${words.join(', ')}${more > 0 ? ` and ${more} more servers` : ''}.`]
      : []),
    ownTools
      ? 'Go on with your own tools where they are enough, and say in your report what could not be done without this.'
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

/** A fault is somebody else's text: one line, not too long, no second full stop. */
function clause(fault: string): string {
  const line = fault.replace(/\s+/g, ' ').trim().replace(/\.+$/, '');
  if (line === '') return 'it does not answer';
  return line.length > 300 ? `${line.slice(0, 300).toWellFormed()}…` : line;
}
