import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { figure } from '../faults/figures.ts';
import { TestSquad } from '../support/squad.ts';
import { type Agent, startAgents } from './agents.ts';
import { configure } from './config-file.ts';
import { inBatches } from './in-batches.ts';
import { Recorded, toolNamed } from './recorded.ts';

const squad = new TestSquad();
/** `item_07` and so on, both ends included. */
const items = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, at) => `item_${String(first + at).padStart(2, '0')}`);
const of = (server: string, names: string[]) => names.map(name => `${server}__${name}`);
const SERVERS = ['alpha', 'beta', 'gamma'] as const;
const OFFER = {
  tools: ['read', 'write', 'delete', 'admin', ...items(1, 63)].map(name => toolNamed(name)),
  resources: ['note://open', 'note://closed'].map(uri => ({ uri, name: uri })),
  resourceTemplates: [{ uriTemplate: 'page://{id}', name: 'page' }],
  prompts: [{ name: 'greet', arguments: [{ name: 'who' }] }, { name: 'scold' }],
};
const kept = Object.fromEntries(SERVERS.map(name => [name, new Recorded(squad.root, name, OFFER)])) as Record<
  (typeof SERVERS)[number],
  Recorded
>;

const CONFIG = {
  servers: {
    // The grant of a server limits every role: no role has `admin`.
    alpha: kept.alpha.block({
      tools: ['read', 'write', 'delete', ...items(1, 40)],
      resources: ['note://open', 'page://{id}'],
      prompts: ['greet'],
    }),
    beta: kept.beta.block({ tools: ['*'], resources: ['*'], prompts: ['*'] }),
    gamma: kept.gamma.block({ tools: ['read', ...items(60, 63)] }),
  },
  shared: ['gamma'],
  agentServers: {
    analyst: ['alpha'],
    architect: ['alpha', 'beta'],
    builder: ['alpha'],
    cleaner: ['alpha'],
    designer: ['beta'],
    editor: ['beta'],
    founder: ['alpha', 'beta'],
    // Not the role "guest": names count letter by letter.
    Guest: ['alpha', 'beta'],
    'guest ': ['alpha'],
    lead: ['alpha'],
  },
  toolRestrictions: {
    analyst: { alpha: { include: ['read', 'item_03'] } },
    builder: { alpha: { exclude: ['delete', 'item_1*'] } },
    cleaner: { alpha: { include: [] } },
    editor: { beta: { include: ['write', 'nothing', ...items(10, 12)] } },
    founder: {
      alpha: { include: ['write'] },
      beta: { exclude: ['read', 'write', 'delete', 'admin', 'item_*'] },
    },
    // Takes away from what is not there: still nothing.
    guest: { alpha: { include: ['read'] } },
    lead: { alpha: { include: ['admin', 'read'] } },
  },
};

interface Table {
  tools: string[];
  resources: string[];
  prompts: string[];
  completions: string[];
}
const ALPHA_REST = { resources: ['alpha+note://open', 'alpha+page://7'], prompts: ['alpha__greet'] };
const BETA_REST = {
  resources: ['beta+note://open', 'beta+note://closed', 'beta+page://7'],
  prompts: ['beta__greet', 'beta__scold'],
};
const NONE = { resources: [], prompts: [], completions: [] };
const ALPHA = { ...ALPHA_REST, completions: ['alpha__greet', 'alpha+page://{id}'] };
const BETA = { ...BETA_REST, completions: ['beta__greet', 'beta__scold', 'beta+page://{id}'] };
const BOTH = {
  resources: [...ALPHA.resources, ...BETA.resources],
  prompts: [...ALPHA.prompts, ...BETA.prompts],
  completions: [...ALPHA.completions, ...BETA.completions],
};
const betaTools = of('beta', ['read', 'write', 'delete', 'admin', ...items(1, 63)]);
/** Shared, so everybody has them. */
const gammaTools = of('gamma', ['read', ...items(60, 63)]);

/** By hand, from the configuration above. */
const MAY: Record<string, Table> = {
  analyst: { tools: ['alpha__read', 'alpha__item_03', ...gammaTools], ...ALPHA },
  architect: {
    tools: [...of('alpha', ['read', 'write', 'delete', ...items(1, 40)]), ...betaTools, ...gammaTools],
    ...BOTH,
  },
  builder: {
    tools: [...of('alpha', ['read', 'write', ...items(1, 9), ...items(20, 40)]), ...gammaTools],
    ...ALPHA,
  },
  cleaner: { tools: [...gammaTools], ...ALPHA },
  designer: { tools: [...betaTools, ...gammaTools], ...BETA },
  editor: { tools: [...of('beta', ['write', ...items(10, 12)]), ...gammaTools], ...BETA },
  founder: { tools: ['alpha__write', ...gammaTools], ...BOTH },
  guest: { tools: [...gammaTools], ...NONE },
  hermit: { tools: [...gammaTools], ...NONE },
  lead: { tools: ['alpha__read', ...gammaTools], ...ALPHA },
  // By their own frontmatter: two tools, another that the server does not offer, and a whole server.
  single: { tools: ['alpha__delete', 'alpha__item_40', ...gammaTools], ...NONE },
  whole: { tools: [...betaTools, ...gammaTools], ...BETA },
};

const TOOLS = SERVERS.flatMap(server => OFFER.tools.map(({ name }) => `${server}__${name}`));
const RESOURCES = SERVERS.flatMap(server =>
  ['note://open', 'note://closed', 'page://7'].map(uri => `${server}+${uri}`),
);
const PROMPTS = SERVERS.flatMap(server => ['greet', 'scold'].map(name => `${server}__${name}`));
const COMPLETIONS = [...PROMPTS, ...SERVERS.map(server => `${server}+page://{id}`)];
/** Nearly the name of something, or of something else. */
const NEVER = [
  ...['read', 'alpha', 'alpha__', '__read', 'alpha_read', 'alpha__READ', 'ALPHA__read', 'alpha__read_'],
  ...[
    'alpha__read__',
    'alpha__alpha__read',
    'alpha/read',
    'alpha.read',
    'squad__read',
    'squad__squad_status',
  ],
  ...['beta__toString', 'beta____proto__', 'constructor__x', 'alpha__*', 'alpha__note://open'],
  // In full, as a client that puts its own prefix before them would say it.
  ...['mcp__squad__alpha__read', 'mcp__alpha__read'],
];

let agents: Agent[];
let cells = 0;

beforeAll(async () => {
  squad.env.SQUAD_AGENTS_DIR = join(squad.root, 'roles');
  mkdirSync(squad.env.SQUAD_AGENTS_DIR);
  const front: Record<string, string> = {
    single: 'mcp: [alpha/delete, alpha/item_40, alpha/item_41]',
    whole: 'mcp: [beta]',
  };
  for (const role of Object.keys(MAY))
    writeFileSync(
      join(squad.env.SQUAD_AGENTS_DIR, `${role}.md`),
      `${front[role] ? `---\n${front[role]}\n---\n` : ''}You are ${role}.\n`,
    );
  await squad.unlimited();
  await squad.json(['config', 'set', 'limits.concurrency', '50']);
  await configure(squad, CONFIG);
  agents = await startAgents(squad, ...Object.keys(MAY));
  for (const agent of agents) await agent.sees(...MAY[agent.role]!.tools);
});
afterAll(() => squad[Symbol.asyncDispose]());

const asked = () => SERVERS.reduce((sum, name) => sum + kept[name].asked().length, 0);

/** The whole answer, without the name that was asked for. */
const without = (body: string, name: string) =>
  body.replaceAll(JSON.stringify(name).slice(1, -1), 'NAME').replaceAll(/"id":\d+/g, '"id":0');

const KINDS = {
  tools: {
    names: [...TOOLS, ...NEVER],
    unknown: 'nobody__home',
    ask: (agent: Agent, name: string) => agent.call(name, CLAIMS),
    succeeds: ({ result }: { result?: Record<string, unknown> }) => result !== undefined,
  },
  resources: {
    names: [...RESOURCES, ...NEVER.map(name => `alpha+${name}`), 'note://open', 'alpha+note://open/..'],
    unknown: 'nobody+note://x',
    ask: (agent: Agent, uri: string) => agent.ask('resources/read', { uri }),
    succeeds: ({ result }: { result?: Record<string, unknown> }) => result !== undefined,
  },
  prompts: {
    names: [...PROMPTS, ...NEVER],
    unknown: 'nobody__home',
    ask: (agent: Agent, name: string) => agent.ask('prompts/get', { name, arguments: { who: 'admin' } }),
    succeeds: ({ result }: { result?: Record<string, unknown> }) => result !== undefined,
  },
  completions: {
    names: COMPLETIONS,
    unknown: 'nobody__home',
    ask: (agent: Agent, name: string) =>
      agent.ask('completion/complete', {
        ref: name.includes('+') ? { type: 'ref/resource', uri: name } : { type: 'ref/prompt', name },
        argument: { name: 'who', value: 'a' },
      }),
    // An unknown name has no completions.
    succeeds: ({ result }: { result?: Record<string, unknown> }) =>
      JSON.stringify(result?.completion ?? '').includes('completed'),
  },
};

/** A request may say what it likes about who it is. */
const CLAIMS = { role: 'architect', agent_id: 'run_0000000000', agent: 'architect', token: 'x', admin: true };

describe.each(Object.keys(MAY))('the role %s', role => {
  test.each(Object.keys(KINDS) as (keyof typeof KINDS)[])(
    'has of the %s what the table says, and what it has not is nowhere',
    { tags: ['R4', 'confused-deputy'] },
    async kind => {
      const agent = agents.find(each => each.role === role)!;
      const { names, unknown, ask, succeeds } = KINDS[kind];
      const nothing = await ask(agent, unknown);
      const expected = without(nothing.body, unknown);
      const before = asked();
      const got = await inBatches(names, async name => {
        const { status, body, message } = await ask(agent, name);
        if (succeeds(message)) return [name];
        // Beside the names, an answer that is no must not differ in a byte from that to what never was.
        expect([name, status, without(body, name)]).toEqual([name, nothing.status, expected]);
        return [];
      });
      const may = MAY[role]![kind];
      expect(got.flat().sort()).toEqual(may.toSorted());
      expect(asked() - before).toBe(may.length);
      if (kind === 'tools') cells += TOOLS.length;
    },
  );
});

test('twelve roles were tried with more than two hundred tools each', () => {
  expect(TOOLS.length).toBeGreaterThanOrEqual(200);
  expect(cells).toBe(12 * TOOLS.length);
  figure('R4', {
    reached: cells,
    of: 2_400,
    told: `12 roles × ${TOOLS.length} tools as in the table; every denial byte-identical to an unknown tool`,
  });
});

test('each refusal is in the audit log, with the role that asked', {
  tags: ['confused-deputy'],
}, async () => {
  for (const agent of agents) {
    const { entries } = await squad.json<{ entries: { roleId: string; decision: string }[] }>([
      ...['audit', '--denied', '--run', agent.id, '-n', '1000'],
    ]);
    expect(entries.length).toBeGreaterThan(0);
    expect(entries.filter(({ roleId }) => roleId !== agent.role)).toEqual([]);
  }
  expect((await squad.run(['audit', 'verify'])).code).toBe(0);
});
