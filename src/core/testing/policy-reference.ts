import type { ArgumentRule, McpConfig } from '../../schema/mcp-config.ts';
import type { Thing } from '../gateway/grants.ts';
import { ROOT } from './gateway-arbitraries.ts';

/*
 * Reference implementation that tests compare `decide` with. It shares no code with `decide`: it follows the documented
 * rules and collects every objection to a call from the configuration.
 */
export type Objection = [reason: string, holds: () => boolean];

export function objections(
  config: McpConfig,
  role: string | null,
  mcp: string[],
  thing: Thing,
  folder: string | null,
): Objection[] {
  const { kind, server: id, name } = thing;
  const at = <T>(record: Record<string, T>, key: string | null) =>
    new Map(Object.entries(record)).get(key ?? '\0');
  const server = at(config.servers, id)!;
  const isWhole = [config.shared, at(config.agentServers, role) ?? [], mcp].some(list => list.includes(id));
  const isSingle = (tool: string) => mcp.includes(`${id}/${tool}`);
  const prefixes = kind === 'tool' || kind === 'prompt' ? ['', `${id}_`, `${id}__`] : [''];
  const has = (list: string[]) =>
    list.some(entry => entry === '*' || prefixes.some(prefix => entry === `${prefix}${name}`));
  const means = (entry: string) =>
    prefixes.some(prefix => entry.startsWith(prefix) && like(entry.slice(prefix.length), name));
  const restrictions = ['*', role].map(
    who => at(at(config.toolRestrictions, who) ?? {}, id) ?? { exclude: [] },
  );
  const names = new Set([...Object.keys(config.servers)]);
  const restricted = ['*', role].flatMap(who => Object.keys(at(config.toolRestrictions, who) ?? {}));
  const ruled = config.argumentRules
    .filter(rule => rule.role.some(pattern => like(pattern, role ?? '')))
    .map(rule => rule.server);
  const listed = kind === 'tool' ? server?.tools : kind === 'prompt' ? server?.prompts : server?.resources;
  return [
    ['server', () => !server || !(isWhole || mcp.some(entry => entry.startsWith(`${id}/`)))],
    ['not_listed', () => !has(listed!)],
    ['not_listed', () => !isWhole && !(kind === 'tool' && (isSingle(name) || isSingle('*')))],
    ['not_listed', () => kind === 'tool' && restrictions.some(r => 'include' in r && !has(r.include))],
    ['excluded', () => kind === 'tool' && restrictions.some(r => 'exclude' in r && r.exclude.some(means))],
    ['unmatched', () => kind === 'tool' && [...restricted, ...ruled].some(other => !names.has(other))],
    ['not_approved', () => !thing.isApproved],
    ...config.argumentRules
      .filter(rule => rule.server === id && rule.role.some(pattern => like(pattern, role ?? '')))
      .filter(rule => kind === 'tool' && rule.tool.some(means))
      .map(
        (rule): Objection => ['argument', () => 'args' in thing && objects(rule, thing.args ?? {}, folder)],
      ),
  ];
}

export function objects(
  { argument, allow, deny, under, maxLength }: ArgumentRule,
  args: unknown,
  from: string | null,
): boolean {
  if (Object(args) !== args || Array.isArray(args)) return true;
  const ends = [...routes(args, argument)];
  const found = ends.filter(end => end !== DEAD_END);
  const isPlain = (value: unknown) => Object(value) !== value;
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  const oneOf = (patterns: string[], value: unknown) => patterns.some(pattern => like(pattern, text(value)));
  const isIn = (value: unknown) =>
    typeof value === 'string' && under!.some(folder => inside(folder, value, from));
  const total = (value: unknown) => within(value).reduce<number>((sum, part) => sum + text(part).length, 0);
  return (
    ((allow || under) && ends.length !== found.length) ||
    (allow && !found.every(value => isPlain(value) && oneOf(allow, value))) ||
    (under && !found.every(isIn)) ||
    (deny && found.flatMap(within).some(part => oneOf(deny, part))) ||
    (maxLength !== undefined && found.some(value => total(value) > maxLength))
  );
}

const DEAD_END = Symbol('nothing there');
function* routes(value: unknown, rest: string | null): Generator<unknown> {
  if (Array.isArray(value)) {
    if (value.length === 0) yield DEAD_END;
    for (const element of value) yield* routes(element, rest);
  } else if (rest === null) yield value;
  else {
    const ways = Object(value) === value ? Object.entries(value as object) : [];
    const open = ways.filter(([key]) => key === rest || rest.startsWith(`${key}.`));
    if (open.length === 0) yield DEAD_END;
    for (const [key, next] of open) yield* routes(next, key === rest ? null : rest.slice(key.length + 1));
  }
}
const within = (value: unknown): unknown[] =>
  Object(value) !== value
    ? [value]
    : Object.entries(value as object).flatMap(([key, part]) => [
        ...(Array.isArray(value) ? [] : [key]),
        ...within(part),
      ]);

function like(pattern: string, text: string): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return text === '';
  if (first !== '*') return text[0] === first && like(rest.join(''), text.slice(1));
  return like(rest.join(''), text) || (text !== '' && like(pattern, text.slice(1)));
}

function inside(folder: string, path: string, from: string | null): boolean {
  if (path === '' || /\\|\0|^\s|\s$|^~|^\w+:|%2e|%2f|%5c/i.test(path) || folder.includes('$')) return false;
  if (!path.startsWith('/') && !from?.startsWith('/')) return false;
  const steps = (start: string | null, way: string) => {
    const done: string[] = [];
    for (const step of (way.startsWith('/') ? way : `${start}/${way}`).split('/'))
      if (step === '..') done.pop();
      else if (step !== '' && step !== '.') done.push(step);
    return done;
  };
  const [top, target] = [steps(ROOT, folder), steps(from, path)];
  return top.every((step, index) => target[index] === step);
}
