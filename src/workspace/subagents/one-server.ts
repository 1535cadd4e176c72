import { Server } from '../../schema/mcp-config.ts';
import type { SubagentServer } from '../../schema/subagent-server.ts';
import type { Findings } from './findings.ts';
import type { ListedServer } from './lists.ts';
import { inOneForm, type Variables } from './variables.ts';

const DEFAULT_TIMEOUT_MS = 300_000;
const SHORTEST_MS = 100;
const LONGEST_MS = 1_800_000;

/** One server in the gateway's words; null, and said, when there is nothing to start or reach. */
export function serverOf(
  name: string,
  { part: given, wrong }: ListedServer,
  variables: Variables,
  findings: Findings,
): Server | null {
  const path = ['mcpServers', name];
  // Of which kind it should be, nobody knows.
  if (wrong.has('type')) return null;
  if (given.type === 'builtin') {
    findings.warn(
      [...path, 'type'],
      `the builtin server "${name}" is not there in Squad: its tools are missing`,
      {
        suggestion: 'Give a program that has such tools as "command".',
      },
    );
    return null;
  }
  const isRemote =
    given.type === 'http' || given.type === 'sse' || (!given.type && !given.command && !!given.url);
  const needed = isRemote ? given.url : given.command;
  if (!needed) {
    const key = isRemote ? 'url' : 'command';
    if (wrong.has(key) || (!given.type && wrong.has('url'))) return null;
    findings.error(path, `the server "${name}" has no ${key === 'url' ? '"url"' : '"command"'}`, {
      suggestion: isRemote
        ? `Add "url" to it.`
        : `Add "command" (a program to start) or "type: http" and "url".`,
    });
    return null;
  }
  warnOfOtherKind(given, isRemote, name, findings);
  const all = (record: Record<string, string> = {}) =>
    Object.fromEntries(Object.entries(record).map(([key, value]) => [key, inOneForm(value, variables)]));
  const common = {
    tools: given.toolFilter === 'all' ? ['*'] : (given.enabledTools ?? ['*']),
    timeout: timeoutOf(given, name, findings),
    instance: 'per-agent',
  };
  return Server.parse(
    isRemote
      ? {
          ...common,
          type: given.type ?? 'http',
          url: inOneForm(needed, variables),
          headers: all(given.headers),
        }
      : {
          ...common,
          ...{ type: 'stdio', command: inOneForm(needed, variables), env: all(given.env) },
          args: (given.args ?? []).map(arg => inOneForm(arg, variables)),
        },
  );
}

/** What belongs to the other kind of server has no effect; and `cpe` serves files of this kind itself. */
function warnOfOtherKind(
  given: Partial<SubagentServer>,
  isRemote: boolean,
  name: string,
  findings: Findings,
): void {
  const others = isRemote ? (['command', 'args', 'env'] as const) : (['url', 'headers'] as const);
  for (const key of others)
    if (given[key] !== undefined)
      findings.warn(
        ['mcpServers', name, key],
        `"${key}" has no effect: the server "${name}" is ${isRemote ? 'reached by its url' : 'a program that is started'}`,
      );
  if (given.command === 'cpe' && given.args?.slice(0, 2).join(' ') === 'mcp serve')
    findings.warn(
      ['mcpServers', name, 'command'],
      'this starts CPE, whose runs Squad cannot show, limit or stop one by one',
      {
        suggestion: 'With "command: squad" and the same arguments Squad serves that file.',
      },
    );
}

function timeoutOf(
  { timeout, args = [] }: Partial<SubagentServer>,
  name: string,
  findings: Findings,
): number {
  // A subagent takes as long as a task does.
  if (timeout === undefined)
    return args.slice(0, 2).join(' ') === 'mcp serve' ? LONGEST_MS : DEFAULT_TIMEOUT_MS;
  const wanted = Math.round(timeout * 1000);
  const kept = Math.min(Math.max(wanted, SHORTEST_MS), LONGEST_MS);
  if (kept !== wanted)
    findings.warn(
      ['mcpServers', name, 'timeout'],
      `a call may take from 0.1 to ${LONGEST_MS / 1000} seconds: ${kept / 1000} are taken`,
    );
  return kept;
}
