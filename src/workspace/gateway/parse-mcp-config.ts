import { getNodeValue, type Node } from 'jsonc-parser';
import type { z } from 'zod';
import { isObject } from '../../base/json.ts';
import { SquadError } from '../../schema/error.ts';
import { type DisabledServer, McpConfig, SQUAD_ITSELF } from '../../schema/mcp-config.ts';
import { type JsonProblem, parseJsonTree, problemsOf, problemText } from '../files/json-file.ts';

type Issue = z.core.$ZodIssue;
type Json = Record<string, unknown>;

export type ParsedMcpConfig =
  /** The problems are those of the disabled servers. */
  | { config: McpConfig; tree: Node; problems: JsonProblem[] }
  | { config: null; tree: null; problems: JsonProblem[] };

/**
 * Parses `.squad/mcp-config.json`. A mistake in a server's entry, restrictions or rules disables that server, and the rest of the
 * file counts: a restriction that cannot be read must not leave its server open. Any other mistake makes the whole file invalid.
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

/** The same, but throws the first mistake that makes the file invalid. */
export function requireMcpConfig(file: string, text: string): McpConfig {
  const { config, problems } = parseMcpConfig(text);
  if (config !== null) return config;
  const [problem] = problems as [JsonProblem, ...JsonProblem[]];
  throw new SquadError('CONFIG_INVALID', problemText(file, text, problem), {
    suggestions: [problem.suggestion ?? `Fix ${file}, then try again.`],
  });
}

/** Every run has Squad's own connection; an entry of the file for it has no effect. */
function withoutSquad(value: unknown): unknown {
  const servers = recordOf(recordOf(value)?.servers);
  if (servers === null || !Object.hasOwn(servers, SQUAD_ITSELF)) return value;
  const { [SQUAD_ITSELF]: _, ...others } = servers;
  return { ...recordOf(value), servers: others };
}

/** The server that a mistake is about; null: the whole file. */
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
