import fc from 'fast-check';
import { expect, test } from 'vitest';
import { amountOf, figure, figureTimeout } from '../../../test/faults/figures.ts';
import { exposedName, exposedUri } from '../../core/gateway/tool-names.ts';
import type { GatewayView } from '../../core/ports/gateway.ts';
import { SEED } from '../../core/testing/check-property.ts';
import * as any from '../../core/testing/gateway-arbitraries.ts';
import { objections } from '../../core/testing/policy-reference.ts';
import { McpConfig } from '../../schema/mcp-config.ts';
import type { Json } from '../../wire/upstream/link.ts';
import { GatewayFixture, plainRequest } from '../testing/gateway-fixture.ts';
import { connectTo, MemoryServer } from '../testing/memory-server.ts';

const IDS = ['files', 'db', 'web'];
const NAMES = ['read', 'write', 'delete_all', 'toString', '__proto__'];
const URIS = ['file:///a', 'read', 'write', '__proto__'];
const TEMPLATES = ['file:///a', 'page://{id}', 'toString'];

/** Everything that can be asked for, of servers that are there. */
const KINDS = {
  tool: { names: NAMES, exposed: exposedName },
  prompt: { names: NAMES, exposed: exposedName },
  resource: { names: URIS, exposed: exposedUri },
  resource_template: { names: TEMPLATES, exposed: exposedUri },
} as const;
type Kind = keyof typeof KINDS;
const THINGS = (Object.keys(KINDS) as Kind[]).flatMap(kind =>
  IDS.flatMap(server =>
    KINDS[kind].names.map(name => ({ kind, server, name, exposed: KINDS[kind].exposed(server, name) })),
  ),
);
type AskedThing = (typeof THINGS)[number];

const ROUNDS = amountOf(1_000_000, 20_000) / THINGS.length;

test('a run may use every tool that it is listed, and every usable tool is listed, of every kind and by every way', {
  tags: ['R2'],
  timeout: figureTimeout(60_000),
}, async () => {
  const servers = Object.fromEntries(IDS.map(id => [id, serverOf()]));
  const seen = { listed: 0, hidden: 0, refused: 0 };
  await using fixture = new GatewayFixture({ connect: connectTo(servers), config: { servers: {} } });
  await fc.assert(
    fc.asyncProperty(any.config, any.role, any.roleMcp, async (drawn, role, mcp) => {
      // As a file would be read: a key `__proto__`, which no file can have, is dropped.
      const config = McpConfig.parse(drawn);
      fixture.audit.length = 0;
      fixture.denied.length = 0;
      fixture.reconfigure(config);
      const run = fixture.run(role, { mcp });
      const view = fixture.gateway.viewOf(run);
      const listed = view === null ? new Set<string>() : await listedBy(view);
      const toPerson = await visibleToPerson(fixture, role, mcp);
      for (const thing of THINGS) {
        const key = `${thing.kind} ${thing.exposed}`;
        const isListed = listed.has(key);
        const outcome = view === null ? 'nothing' : await use(view, thing);
        const isGranted = objections(config, role, mcp, { ...thing, isApproved: true }, null).every(
          ([, holds]) => !holds(),
        );
        seen[outcome === 'refused' ? 'refused' : isListed ? 'listed' : 'hidden']++;
        expect([key, outcome !== 'nothing']).toEqual([key, isListed]);
        expect([key, isListed && !isGranted]).toEqual([key, false]);
        if (thing.kind === 'tool') expect([key, toPerson.has(thing.exposed)]).toEqual([key, isListed]);
        if (thing.kind !== 'tool' && thing.kind !== 'resource')
          expect([key, view !== null && (await completes(view, thing))]).toEqual([key, isListed]);
      }
      await fixture.gateway.release(run.id);
    }),
    { numRuns: Math.ceil(ROUNDS), seed: SEED },
  );
  // Otherwise it proves nothing.
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(0);
  const tried = Object.values(seen).reduce((sum, count) => sum + count);
  figure('R2', {
    reached: tried,
    of: 1_000_000,
    told: `${tried.toLocaleString('en')} things tried through the gateway: ${seen.listed.toLocaleString('en')} listed and usable, ${seen.hidden.toLocaleString('en')} neither, ${seen.refused.toLocaleString('en')} refused by an argument, seed ${SEED}`,
  });
});

function serverOf(): MemoryServer {
  const server = new MemoryServer();
  server.tools = NAMES.map(name => ({ name, inputSchema: { type: 'object' } }));
  server.prompts = NAMES.map(name => ({ name, arguments: [{ name: 'who' }] }));
  server.resources = URIS.map(uri => ({ uri, name: uri }));
  server.templates = TEMPLATES.map(uriTemplate => ({ uriTemplate, name: uriTemplate }));
  server.answer = ({ method }): Json =>
    ({
      'tools/call': { content: [{ type: 'text', text: 'called' }] },
      'prompts/get': { messages: [] },
      'resources/read': { contents: [] },
      'completion/complete': { completion: { values: ['completed'] } },
    })[method]!;
  return server;
}

async function listedBy(view: GatewayView): Promise<Set<string>> {
  const [tools, prompts, resources, templates] = await Promise.all([
    view.tools(),
    view.prompts(),
    view.resources(),
    view.resourceTemplates(),
  ]);
  return new Set([
    ...tools.map(({ name }) => `tool ${name}`),
    ...prompts.map(({ name }) => `prompt ${name}`),
    ...resources.map(({ uri }) => `resource ${uri}`),
    ...templates.map(({ uriTemplate }) => `resource_template ${uriTemplate}`),
  ]);
}

/** The search over all tools of a role that people have. */
async function visibleToPerson(
  fixture: GatewayFixture,
  role: string | null,
  mcp: string[],
): Promise<Set<string>> {
  const { tools } = await fixture.gateway.toolsOf(fixture.workspace, role, mcp, {});
  return new Set(tools.filter(({ isVisible }) => isVisible).map(({ name }) => name));
}

async function use(
  view: GatewayView,
  { kind, exposed }: AskedThing,
): Promise<'used' | 'refused' | 'nothing'> {
  const request = plainRequest();
  if (kind === 'resource_template') return (await completes(view, { kind, exposed })) ? 'used' : 'nothing';
  const result =
    kind === 'tool'
      ? await view.call(exposed, { arguments: {} }, request)
      : kind === 'prompt'
        ? await view.getPrompt(exposed, {}, request)
        : await view.readResource(exposed, {}, request);
  if (result === null) return 'nothing';
  return result.isError ? 'refused' : 'used';
}

async function completes(view: GatewayView, { kind, exposed }: Pick<AskedThing, 'kind' | 'exposed'>) {
  const ref =
    kind === 'prompt' ? { type: 'ref/prompt', name: exposed } : { type: 'ref/resource', uri: exposed };
  return (await view.complete({ ref, argument: { name: 'who', value: '' } }, plainRequest())) !== null;
}
