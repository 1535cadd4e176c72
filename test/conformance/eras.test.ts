import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { notifyListChanged } from '../../src/app/serve-views.ts';
import { withServers } from '../../src/mcp/with-servers.ts';
import type { Era, Face } from '../../src/wire/face/face.ts';
import { httpRig } from '../../src/wire/testing/http-rig.ts';
import { serveSample } from '../../src/wire/upstream/testing/http-servers.ts';
import { figure } from '../faults/figures.ts';
import { realGateway } from '../support/real-gateway.ts';
import { until } from '../support/squad.ts';

const ALL = { tools: ['*'], resources: ['*'], prompts: ['*'] };
const STDIO = join(import.meta.dirname, '../../src/wire/upstream/fixtures/sdk-stdio-server.ts');
const NOTHING_OF_OUR_OWN: Face = {
  info: { name: 'gateway', version: '1.0.0' },
  logging: true,
  tools: { list: async () => [], call: async () => null },
  resources: { list: async () => [], read: async () => null, watchable: true },
};

const UPSTREAMS: Record<string, Era[]> = {
  legacy: ['legacy'],
  modern: ['modern'],
  mixed: ['legacy', 'modern'],
};
const CELLS = (['legacy', 'modern'] as const).flatMap(client =>
  Object.keys(UPSTREAMS).flatMap(upstreams =>
    (['stdio', 'HTTP'] as const).map(transport => ({ client, upstreams, transport })),
  ),
);
let whole = 0;

test.each(CELLS)(
  'a $client client can use everything of $upstreams servers over $transport',
  { tags: ['R6'], timeout: 120_000 },
  async ({ client: era, upstreams, transport }) => {
    await using open = new AsyncDisposableStack();
    const servers: Record<string, object> = {};
    for (const [at, of] of UPSTREAMS[upstreams]!.entries()) {
      if (transport === 'HTTP') {
        const { url, close } = await serveSample(of);
        open.defer(close);
        servers[`s${at}`] = { type: 'http', url, ...ALL };
      } else servers[`s${at}`] = { command: process.execPath, args: [STDIO, of], ...ALL };
    }
    const ids = Object.keys(servers);
    const fixture = open.use(realGateway({ servers, shared: ids }));
    const run = fixture.run();
    fixture.gateway.prepare(run);
    const rig = await httpRig({
      build: () => withServers(NOTHING_OF_OUR_OWN, () => fixture.gateway.viewOf(run)),
    });
    open.defer(() => rig.close());
    fixture.gateway.onChange((_runId, what) => notifyListChanged(what, rig.handler));
    const client = await rig.client(era);
    await until(
      'every server is there',
      async () => (await client.listTools()).tools.length >= 4 * ids.length,
    );

    expect((await client.listTools()).tools.map(({ name }) => name).sort()).toEqual(
      ids.flatMap(id => ['change', 'count', 'echo', 'hold'].map(name => `${id}__${name}`)),
    );
    expect((await client.listPrompts()).prompts.map(({ name }) => name).sort()).toEqual(
      ids.map(id => `${id}__greet`),
    );
    expect((await client.listResources()).resources.map(({ uri }) => uri).sort()).toEqual(
      ids.map(id => `${id}+sample://a`),
    );
    expect(
      (await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate).sort(),
    ).toEqual(ids.map(id => `${id}+page://{id}`));

    for (const id of ids) {
      const text = `Grüße\u2028 von ${id}`;
      expect(await client.callTool({ name: `${id}__echo`, arguments: { text } })).toMatchObject({
        content: [{ type: 'text', text }],
      });
      const seen: number[] = [];
      const counted = await client.callTool(
        { name: `${id}__count`, arguments: {} },
        { onprogress: ({ progress }) => seen.push(progress) },
      );
      expect([counted.content, seen]).toEqual([[{ type: 'text', text: 'three' }], [1, 2, 3]]);
      expect(await client.readResource({ uri: `${id}+sample://a` })).toMatchObject({
        contents: [{ uri: `${id}+sample://a`, text: 'the text of a' }],
      });
      expect(await client.readResource({ uri: `${id}+page://7` })).toMatchObject({
        contents: [{ text: 'page 7' }],
      });
      expect(await client.getPrompt({ name: `${id}__greet`, arguments: { name: 'Ada' } })).toMatchObject({
        messages: [{ content: { text: 'Greet Ada' } }],
      });
      expect(
        await client.complete({
          ref: { type: 'ref/prompt', name: `${id}__greet` },
          argument: { name: 'name', value: 'A' },
        }),
      ).toMatchObject({ completion: { values: ['Ada', 'Alan'] } });

      const stop = new AbortController();
      const held = client.callTool({ name: `${id}__hold`, arguments: {} }, { signal: stop.signal });
      const inFlight = async () =>
        (await fixture.gateway.status(null)).find(({ server }) => server === id)!.callsInFlight;
      await until('the call is under way', async () => (await inFlight()) === 1);
      stop.abort();
      await expect(held).rejects.toThrow();
      await until('the call is cancelled', async () => (await inFlight()) === 0);

      await expect(client.callTool({ name: `${id}__none` })).rejects.toMatchObject({ code: -32602 });
      await expect(client.getPrompt({ name: `${id}__none` })).rejects.toMatchObject({ code: -32602 });
      await expect(client.readResource({ uri: `${id}+none://x` })).rejects.toThrow();
      expect(await client.callTool({ name: `${id}__echo`, arguments: { text: 7 } })).toMatchObject({
        isError: true,
      });
    }
    const statuses = await fixture.gateway.status(null);
    expect(statuses.map(({ server, era: found, failures }) => [server, found, failures])).toEqual(
      UPSTREAMS[upstreams]!.map((of, at) => [`s${at}`, of, 0]),
    );
    whole += 1;
  },
);

afterAll(() => {
  if (whole === CELLS.length)
    figure('R6', { reached: whole, of: 12, told: 'combinations, each with every method of the protocol' });
});
