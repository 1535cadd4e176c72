import fc from 'fast-check';
import { expect, test } from 'vitest';
import { amountOf, figure, figureTimeout } from '../../../test/faults/figures.ts';
import type { McpConfig } from '../../schema/mcp-config.ts';
import { checkProperty, SEED } from '../testing/check-property.ts';
import * as any from '../testing/gateway-arbitraries.ts';
import { objections, objects } from '../testing/policy-reference.ts';
import { decide, grantsOf, type Thing } from './grants.ts';

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

test('every decision is the one that the objections of the configuration lead to', {
  tags: ['B3', 'R2'],
  timeout: figureTimeout(120_000),
}, () => {
  const triples = amountOf(1_000_000);
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
    1,
    triples,
  );
  // Otherwise it proves nothing.
  const outcomes = ['allowed', 'argument', 'excluded', 'not_approved', 'not_listed', 'server', 'unmatched'];
  expect([...seen.keys()].sort()).toEqual(outcomes);
  figure('R2', {
    reached: triples,
    of: 1_000_000,
    told: `${triples.toLocaleString('en')} random decisions equal the reference's, seed ${SEED}`,
  });
});

test('every rule on arguments decides alone as its objection does', { tags: ['B4'] }, () => {
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

test('a restriction more, a rule more or a name less never allows anything more', {
  tags: ['R3', 'failing-open'],
  timeout: figureTimeout(120_000),
}, () => {
  const edits = amountOf(100_000, 20_000);
  let taken = 0;
  checkProperty(
    fc.property(any.config, any.role, any.roleMcp, any.thing, edit, (config, role, mcp, thing, change) => {
      const before = decided(config, role, mcp, thing).allowed;
      const after = decided(...withRole(change(config, mcp), role), thing).allowed;
      if (before && !after) taken++;
      expect(after && !before).toBe(false);
    }),
    1,
    edits,
  );
  expect(taken).toBeGreaterThan(0);
  figure('R3', {
    reached: edits,
    of: 100_000,
    told: `${edits.toLocaleString('en')} random edits, ${taken.toLocaleString('en')} took something away, 0 gave, seed ${SEED}`,
  });
});

const withRole = ([config, mcp]: [McpConfig, string[]], role: string | null) => [config, role, mcp] as const;

test('a listed tool may be called with some arguments, and a tool that may be called is listed', {
  tags: ['R2'],
  timeout: figureTimeout(120_000),
}, () => {
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
    1,
    amountOf(1_000_000, 20_000),
  );
});
