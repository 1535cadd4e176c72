import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ArgumentRule, McpConfig } from '../../schema/mcp-config.ts';
import { checkProperty } from '../testing/check-property.ts';
import * as any from '../testing/gateway-arbitraries.ts';
import { decide, type Thing } from './decide.ts';
import { grantsOf } from './grants.ts';

/*
 * The same decision once more, from what the user is told: a list of objections, each looked for in the configuration itself.
 */
type Objection = [reason: string, holds: () => boolean];

function objections(
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

function objects(
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
  const [top, target] = [steps(any.ROOT, folder), steps(from, path)];
  return top.every((step, index) => target[index] === step);
}

const context = { workspaceRoot: any.ROOT };
const decided = (
  config: McpConfig,
  role: string | null,
  mcp: string[],
  thing: Thing,
  folder: string | null = any.ROOT,
) => {
  const grants = grantsOf(config, role, mcp).map(grant => ({ ...grant, folder }));
  return decide(grants, thing, context);
};

test('every decision is the one that the objections of the configuration lead to', () => {
  const seen = new Map<string, number>();
  checkProperty(
    fc.property(
      any.config,
      any.role,
      any.roleMcp,
      any.thing,
      any.folder,
      (config, role, mcp, thing, folder) => {
        const objection = objections(config, role, mcp, thing, folder).find(([, holds]) => holds());
        const decision = decided(config, role, mcp, thing, folder);
        const reason = decision.allowed ? 'allowed' : decision.reason;
        seen.set(reason, (seen.get(reason) ?? 0) + 1);
        expect(reason).toBe(objection?.[0] ?? 'allowed');
      },
    ),
  );
  // Otherwise it proves nothing.
  const outcomes = ['allowed', 'argument', 'excluded', 'not_approved', 'not_listed', 'server', 'unmatched'];
  expect([...seen.keys()].sort()).toEqual(outcomes);
});

test('every rule on arguments decides alone as its objection does', () => {
  const outcomes = { kept: 0, broken: 0 };
  checkProperty(
    fc.property(any.argumentRule, any.args, any.folder, (rule, args, folder) => {
      const { server } = rule;
      const open = { tools: ['*'], resources: [], prompts: [], timeout: 1_000, cooldown: 1_000 };
      const config: McpConfig = {
        servers: {
          [server]: { type: 'stdio', command: 'x', args: [], env: {}, instance: 'shared', ...open },
        },
        ...{ agentServers: {}, shared: [server], toolRestrictions: {} },
        argumentRules: [{ ...rule, role: ['*'], tool: ['*'] }],
      };
      const thing: Thing = { kind: 'tool', server, name: 'read', isApproved: true, args };
      const isBroken = objects(rule, args ?? {}, folder);
      outcomes[isBroken ? 'broken' : 'kept']++;
      expect(decided(config, 'coder', [], thing, folder).allowed).toBe(!isBroken);
    }),
  );
  expect(Math.min(outcomes.kept, outcomes.broken)).toBeGreaterThan(0);
});

/** Ways to make a configuration say less. */
const edit: fc.Arbitrary<(config: McpConfig, mcp: string[]) => [McpConfig, string[]]> = fc.oneof(
  any.argumentRule.map(rule => (config: McpConfig, mcp: string[]): [McpConfig, string[]] => [
    { ...config, argumentRules: [...config.argumentRules, rule] },
    mcp,
  ]),
  fc
    .tuple(
      fc.constantFrom(...any.ROLES),
      fc.constantFrom(...any.SERVERS),
      fc.array(fc.constantFrom(...any.NAMES)),
      fc.boolean(),
    )
    .map(([role, server, names, isInclude]) => (config: McpConfig, mcp: string[]): [McpConfig, string[]] => {
      const restrictions = new Map(Object.entries(config.toolRestrictions));
      const servers = new Map(Object.entries(restrictions.get(role) ?? {}));
      const before = servers.get(server);
      if (!before) servers.set(server, isInclude ? { include: names } : { exclude: names });
      else if ('exclude' in before) servers.set(server, { exclude: [...before.exclude, ...names] });
      else servers.set(server, { include: before.include.filter(name => !names.includes(name)) });
      restrictions.set(role, Object.fromEntries(servers));
      return [{ ...config, toolRestrictions: Object.fromEntries(restrictions) }, mcp];
    }),
  fc
    .tuple(
      fc.constantFrom('servers', 'shared', 'agentServers', 'mcp'),
      fc.constantFrom(...any.NAMES, ...any.SERVERS, '*', 'files/read'),
    )
    .map(([where, name]) => (config: McpConfig, mcp: string[]): [McpConfig, string[]] => {
      const less = <T>(list: T[]) => list.filter(entry => entry !== name);
      const values = <T, U>(record: Record<string, T>, change: (value: T) => U) =>
        Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
      if (where === 'mcp') return [config, less(mcp)];
      if (where === 'shared') return [{ ...config, shared: less(config.shared) }, mcp];
      if (where === 'agentServers')
        return [{ ...config, agentServers: values(config.agentServers, less) }, mcp];
      const servers = values(config.servers, server => ({
        ...server,
        ...{ tools: less(server.tools), resources: less(server.resources), prompts: less(server.prompts) },
      }));
      return [{ ...config, servers }, mcp];
    }),
);

test('a restriction more, a rule more or a name less never allows anything more', () => {
  let taken = 0;
  checkProperty(
    fc.property(any.config, any.role, any.roleMcp, any.thing, edit, (config, role, mcp, thing, change) => {
      const before = decided(config, role, mcp, thing).allowed;
      const after = decided(...withRole(change(config, mcp), role), thing).allowed;
      if (before && !after) taken++;
      expect(after && !before).toBe(false);
    }),
  );
  expect(taken).toBeGreaterThan(0);
});

const withRole = ([config, mcp]: [McpConfig, string[]], role: string | null) => [config, role, mcp] as const;

test('what is listed may be called with some arguments, and what may be called is listed', () => {
  checkProperty(
    fc.property(any.config, any.role, any.roleMcp, any.thing, (config, role, mcp, thing) => {
      const { args, ...seen } = thing;
      const isListed = decided(config, role, mcp, seen).allowed;
      // A rule for a server that does not exist hides tools whatever the arguments are.
      const argumentRules = config.argumentRules.filter(rule => !Object.hasOwn(config.servers, rule.server));
      const call = decided({ ...config, argumentRules }, role, mcp, { ...thing, args: {} }).allowed;
      expect(call).toBe(isListed);
      expect(decided(config, role, mcp, thing).allowed && !isListed).toBe(false);
    }),
    0.5,
  );
});
